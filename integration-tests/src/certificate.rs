//! Certificates that sign for themselves, made by openssl.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A certificate for this machine's loopback and its key, in files.
#[derive(Clone, Debug)]
pub struct Pem {
    /// The certificate.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

impl Pem {
    /// Makes a new one in `dir`; `name` is its common name, too.
    ///
    /// # Panics
    /// When there is no openssl.
    pub fn make(dir: &Path, name: &str) -> Self {
        let [certificate, key] = ["crt", "key"].map(|end| dir.join(format!("{name}.{end}")));
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
            .args(["-nodes", "-days", "2", "-subj", &format!("/CN={name}")])
            .args(["-addext", "subjectAltName=IP:127.0.0.1"])
            .args(["-addext", "basicConstraints=critical,CA:FALSE"])
            .arg("-keyout")
            .arg(&key)
            .arg("-out")
            .arg(&certificate)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .status();
        let made = made.unwrap_or_else(|error| panic!("openssl cannot be run: {error}"));
        assert!(made.success(), "openssl made no certificate");
        Pem { certificate, key }
    }
}
