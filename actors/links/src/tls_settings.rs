//! Settings of TLS.

use std::path::{Path, PathBuf};

use reelyard_core::settings;
use reelyard_core::settings::toml::Value;
use reelyard_core::settings::{Read, SettingValue, SettingsReader};
use reelyard_file_server::certificate::{BadCertificate, Certificate};

settings! {
    /// TLS for the links of shares. A reload reads both files again; new connections get the
    /// new certificate. Without them links are served without encryption.
    pub struct ShareTlsConfig [node] {
        /// Certificate in PEM, followed by its chain of intermediate certificates.
        certificate: Option<CertificateFile> = Optional "/etc/reelyard/share.crt",
        /// Private key of the certificate in PEM, without a password.
        key: Option<PathBuf> = Optional "/etc/reelyard/share.key",
    }
}

/// Path of a certificate file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFile {
    path: PathBuf,
    /// The parsed certificate with its key; none only if a file cannot be read.
    read: Option<Certificate>,
}

impl SettingValue for CertificateFile {
    fn from_toml(value: &Value) -> Read<Self> {
        Ok(CertificateFile { path: PathBuf::from_toml(value)?, read: None })
    }

    fn to_toml(&self) -> Option<Value> {
        self.path.to_toml()
    }
}

impl ShareTlsConfig {
    /// The certificate for clients; none without TLS.
    pub fn certificate(&self) -> Option<&Certificate> {
        self.certificate.as_ref()?.read.as_ref()
    }

    /// Reads and parses both files.
    pub fn resolve(&mut self, reader: &mut SettingsReader) {
        const KEYS: [&str; 2] = ["share.tls.certificate", "share.tls.key"];
        read_files(&mut self.certificate, self.key.as_deref(), KEYS, reader);
    }
}

settings! {
    /// TLS for `listen`. A reload reads both files again; new connections get the new certificate.
    /// Without them `listen` is not encrypted.
    pub struct ApiTlsConfig [node] {
        /// Certificate in PEM, followed by its chain of intermediate certificates.
        certificate: Option<CertificateFile> = Optional "/etc/reelyard/host.crt",
        /// Private key of the certificate in PEM, without a password.
        key: Option<PathBuf> = Optional "/etc/reelyard/host.key",
    }
}

impl ApiTlsConfig {
    /// The certificate for clients; none without TLS.
    pub fn certificate(&self) -> Option<&Certificate> {
        self.certificate.as_ref()?.read.as_ref()
    }

    /// Whether TLS is configured, also if a file cannot be read.
    pub fn is_on(&self) -> bool {
        self.certificate.is_some() || self.key.is_some()
    }

    /// Reads and parses both files.
    pub fn resolve(&mut self, reader: &mut SettingsReader) {
        const KEYS: [&str; 2] = ["tls.certificate", "tls.key"];
        read_files(&mut self.certificate, self.key.as_deref(), KEYS, reader);
    }
}

settings! {
    /// TLS of a worker. A reload reads both files again; new connections get the new certificate. The
    /// node must call a worker with TLS by https: see `calls.tls` of the node.
    pub struct WorkerTlsConfig [node] {
        /// Uses TLS for the data port too. Old cfws cannot copy from this worker then.
        data: bool = Default "false",
    }
    parts {
        /// Certificate and key.
        listener: ApiTlsConfig,
    }
}

impl WorkerTlsConfig {
    /// The certificate of the data port; none without TLS.
    pub fn data_certificate(&self) -> Option<&Certificate> {
        self.listener.certificate().filter(|_| self.data)
    }

    /// Reads and parses both files.
    pub fn resolve(&mut self, reader: &mut SettingsReader) {
        self.listener.resolve(reader);
        if self.data && !self.listener.is_on() {
            reader.fault("tls.data", "has no effect without tls.certificate and tls.key: set both");
        }
    }
}

/// Reads and parses a certificate and its key, the values of the settings `keys`.
fn read_files(
    certificate: &mut Option<CertificateFile>,
    key: Option<&Path>,
    keys: [&str; 2],
    reader: &mut SettingsReader,
) {
    let (file, key) = match (certificate, key) {
        (Some(file), Some(key)) => (file, key),
        (None, None) => return,
        (given, _) => {
            let [missing, other] = if given.is_none() { keys } else { [keys[1], keys[0]] };
            return reader.fault(missing, format!("is missing: {other} is set"));
        }
    };
    match Certificate::read(&file.path, key) {
        Ok(certificate) => file.read = Some(certificate),
        Err(BadCertificate::Key(why)) => {
            reader.fault(keys[1], format!("{}: {why}", key.display()));
        }
        Err(why) => reader.fault(keys[0], format!("{}: {why}", file.path.display())),
    }
}
