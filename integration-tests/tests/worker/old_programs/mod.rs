//! A worker with cfm, with an external program, and with the wire of cfw.

mod external_downloader;
mod old_cfm;
mod wire;
