//! The console in a real browser. The runner leaves these tests out if there is no Chromium.

mod accessibility;
mod addresses;
mod keyboard;
mod looking;
mod sessions;
mod updates;
mod visits;
