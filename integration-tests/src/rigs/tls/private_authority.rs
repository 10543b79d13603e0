//! A private authority, made by `reelyard certs`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use anyhow::{Result, ensure};
use rcgen::{CertificateParams, DnType, Issuer, KeyPair};

use crate::rigs::binary::run;

/// The name of the authority of `reelyard certs`.
const NAME: &str = "Reelyard yard authority";

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The directory of an authority.
pub struct PrivateAuthority {
    dir: PathBuf,
}

/// The files of a certificate and its key.
#[derive(Clone, Debug)]
pub struct HostCertificate {
    /// Path of the PEM file for `tls.certificate`.
    pub certificate: String,
    /// Path of the PEM file for `tls.key`.
    pub key: String,
}

impl HostCertificate {
    /// The settings of a node or worker that uses it.
    pub fn settings(&self) -> [(&str, &str); 2] {
        [("tls.certificate", &self.certificate), ("tls.key", &self.key)]
    }
}

impl PrivateAuthority {
    /// Makes a new authority in `dir`.
    pub fn make(dir: PathBuf) -> Result<Self> {
        let authority = PrivateAuthority { dir };
        authority.certs(&["init"])?;
        Ok(authority)
    }

    /// Its certificate.
    pub fn ca(&self) -> String {
        self.file("ca.crt")
    }

    /// A new certificate for these names. An earlier one with the same first name is replaced.
    pub fn host(&self, names: &[&str]) -> Result<HostCertificate> {
        self.certs(&[&["host"], names, &["--replace"]].concat())?;
        let [first, ..] = names else { anyhow::bail!("a certificate needs a name") };
        Ok(self.files(first))
    }

    /// A certificate that expired yesterday.
    pub fn expired(&self, ip: IpAddr) -> Result<HostCertificate> {
        let mut of_authority = CertificateParams::default();
        of_authority.distinguished_name.push(DnType::CommonName, NAME);
        let key = KeyPair::from_pem(&std::fs::read_to_string(self.file("ca.key"))?)?;
        let issuer = Issuer::new(of_authority, key);
        let mut params = CertificateParams::new([ip.to_string()])?;
        params.not_before = (SystemTime::now() - 2 * DAY).into();
        params.not_after = (SystemTime::now() - DAY).into();
        let key = KeyPair::generate()?;
        let files = self.files(&format!("expired-{ip}"));
        std::fs::write(&files.certificate, params.signed_by(&key, &issuer)?.pem())?;
        std::fs::write(&files.key, key.serialize_pem())?;
        Ok(files)
    }

    /// Runs `reelyard certs` in the directory.
    pub fn certs(&self, arguments: &[&str]) -> Result<()> {
        let dir = self.dir.display().to_string();
        let ended = run(&[&["certs"], arguments, &["--dir", &dir]].concat());
        ensure!(ended.code == Some(0), "{}", ended.err);
        Ok(())
    }

    fn files(&self, name: &str) -> HostCertificate {
        HostCertificate {
            certificate: self.file(&format!("{name}.crt")),
            key: self.file(&format!("{name}.key")),
        }
    }

    fn file(&self, name: &str) -> String {
        self.dir.join(name).display().to_string()
    }
}
