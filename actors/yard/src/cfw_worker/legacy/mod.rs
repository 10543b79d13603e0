//! Calls that only an old cfw needs. The other calls are the same for cfws and workers: `/hb`, `/df` and
//! `DELETE`.

mod file_list;
