//! Self-signed certificates, made by openssl.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The files of a certificate for loopback addresses and of its key.
#[derive(Clone, Debug)]
pub struct Pem {
    /// The certificate in PEM form.
    pub certificate: PathBuf,
    /// The private key in PEM form.
    pub key: PathBuf,
}

impl Pem {
    /// Makes a new certificate in `dir` with the common name `name`.
    ///
    /// # Panics
    /// Panics when openssl is missing or fails.
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
