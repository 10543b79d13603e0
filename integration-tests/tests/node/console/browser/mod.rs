//! The console in a real browser. The runner leaves these tests out if there is no Chromium.

mod accessibility;
mod keyboard;
mod visits;
