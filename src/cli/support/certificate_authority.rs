//! A private certificate authority in a directory, with the certificates that it signed.

use std::io::Write;
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Context;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};

use super::failure::CommandFailure;

/// The name of the authority's files.
const AUTHORITY: &str = "ca";

/// How long the authority and its certificates are valid, in days.
const CA_DAYS: u64 = 3650;
const HOST_DAYS: u64 = 825;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A private certificate authority.
pub(in crate::cli) struct CertificateAuthority<'a> {
    /// Directory of all its files.
    pub(in crate::cli) dir: &'a Path,
    /// Its name in certificates.
    pub(in crate::cli) name: &'static str,
    /// The command that creates it.
    pub(in crate::cli) created_by: &'static str,
}

/// A certificate and its key, as files.
pub(in crate::cli) struct CertificateFiles {
    pub(in crate::cli) certificate: PathBuf,
    pub(in crate::cli) key: PathBuf,
}

impl CertificateAuthority<'_> {
    /// The certificate and the key of the authority itself.
    pub(in crate::cli) fn own_files(&self) -> CertificateFiles {
        self.files(AUTHORITY)
    }

    /// The files of the host whose first name is `first`.
    pub(in crate::cli) fn files(&self, first: &str) -> CertificateFiles {
        let file = first.replace(':', "_");
        let path = |end: &str| self.dir.join(format!("{file}.{end}"));
        CertificateFiles { certificate: path("crt"), key: path("key") }
    }

    /// Creates the authority.
    pub(in crate::cli) fn create(&self) -> anyhow::Result<CertificateFiles> {
        std::fs::create_dir_all(self.dir)
            .with_context(|| format!("{} cannot be created", self.dir.display()))?;
        let authority = CertifiedIssuer::self_signed(self.params(), KeyPair::generate()?)?;
        let files = self.own_files();
        // The key first: a certificate without its key is useless.
        write_new(&files.key, 0o600, &authority.key().serialize_pem())?;
        write_new(&files.certificate, 0o644, &authority.pem())?;
        Ok(files)
    }

    /// Signs a certificate for these names and uses. The first name gives the files their names.
    pub(in crate::cli) fn sign(
        &self,
        names: &[String],
        uses: Vec<ExtendedKeyUsagePurpose>,
        replace: bool,
    ) -> Result<CertificateFiles, CommandFailure> {
        let [first, ..] = names else {
            return Err(CommandFailure::Usage("name a host".to_owned()));
        };
        check_names(names)?;
        let key = self.own_files().key;
        let key = std::fs::read_to_string(&key).map_err(|error| {
            let (path, command) = (key.display(), self.created_by);
            CommandFailure::Usage(format!(
                "{path} cannot be read: {error}. Run \"{command}\" first."
            ))
        })?;
        let files = self.files(first);
        self.write_signed(names, uses, &key, &files, replace)?;
        Ok(files)
    }

    /// The authority without its key. Only its name and its key count for the certificates that it signs.
    fn params(&self) -> CertificateParams {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, self.name);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        limit(&mut params, CA_DAYS);
        params
    }

    fn write_signed(
        &self,
        names: &[String],
        uses: Vec<ExtendedKeyUsagePurpose>,
        ca_key: &str,
        files: &CertificateFiles,
        replace: bool,
    ) -> anyhow::Result<()> {
        let issuer = Issuer::new(self.params(), KeyPair::from_pem(ca_key)?);
        let mut params = CertificateParams::new(names)?;
        let host = names.iter().find(|name| name.parse::<IpAddr>().is_err());
        if let Some(name) = host.or(names.first()) {
            params.distinguished_name.push(DnType::CommonName, name.as_str());
        }
        params.extended_key_usages = uses;
        params.use_authority_key_identifier_extension = true;
        limit(&mut params, HOST_DAYS);
        let own = KeyPair::generate()?;
        let signed = params.signed_by(&own, &issuer)?;
        let write = if replace { replace_file } else { write_new };
        write(&files.key, 0o600, &own.serialize_pem())?;
        write(&files.certificate, 0o644, &signed.pem())
    }
}

/// The path of a file in full, for a line of a configuration.
pub(in crate::cli) fn full_path(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

fn check_names(names: &[String]) -> Result<(), CommandFailure> {
    for name in names {
        let is_fit = |c: char| c.is_ascii_alphanumeric() || ['.', '-', ':'].contains(&c);
        if name.is_empty() || !name.chars().all(is_fit) {
            return Err(CommandFailure::Usage(format!("{name:?} is no host name and no address")));
        }
        if name == AUTHORITY {
            let detail =
                "\"ca\" names the files of the authority: give the host another first name";
            return Err(CommandFailure::Usage(detail.to_owned()));
        }
    }
    Ok(())
}

/// Valid from yesterday on, because clocks differ.
fn limit(params: &mut CertificateParams, days: u64) {
    let now = SystemTime::now();
    params.not_before = (now - DAY).into();
    params.not_after = (now + DAY * u32::try_from(days).unwrap_or(u32::MAX)).into();
}

/// Writes a file that does not exist yet.
fn write_new(path: &Path, mode: u32, text: &str) -> anyhow::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(mode).open(path);
    let mut file = file.with_context(|| {
        format!("{} cannot be created: remove it, or choose another directory", path.display())
    })?;
    file.write_all(text.as_bytes())?;
    Ok(file.sync_all()?)
}

/// Replaces a file atomically.
fn replace_file(path: &Path, mode: u32, text: &str) -> anyhow::Result<()> {
    let new = path.with_extension("new");
    write_new(&new, mode, text)?;
    std::fs::rename(&new, path).with_context(|| format!("{} cannot be replaced", path.display()))
}
