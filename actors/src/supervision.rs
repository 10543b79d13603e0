//! Restarting actors that panicked. actix' own Supervisor does not.
