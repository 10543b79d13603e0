//! `reelyard certs`: a private certificate authority for a yard that has none.

use std::io::Write;
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Context;
use clap::{Args, Subcommand};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};

use crate::cli::support::failure::CommandFailure;

/// The name of the authority's files.
const AUTHORITY: &str = "ca";

/// How long the authority and its certificates are valid, in days.
const CA_DAYS: u64 = 3650;
const HOST_DAYS: u64 = 825;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug, Args)]
pub struct CertsArgs {
    #[command(subcommand)]
    command: CertsCommand,
}

#[derive(Debug, Subcommand)]
enum CertsCommand {
    /// Create a certificate authority: ca.crt for all clients, and ca.key, which stays here.
    Init {
        /// Directory of the authority. It is created if it is missing.
        #[arg(long, default_value = "reelyard-certs")]
        dir: PathBuf,
    },
    /// Create a certificate and a key for a host, signed by the authority.
    Host {
        /// Names and addresses by which clients reach the host. The first one names the files.
        #[arg(required = true)]
        names: Vec<String>,
        /// Directory of the authority.
        #[arg(long, default_value = "reelyard-certs")]
        dir: PathBuf,
        /// Replace the files of the same host.
        #[arg(long)]
        replace: bool,
    },
}

/// Creates an authority, or a certificate of it.
pub fn run(args: CertsArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    match args.command {
        CertsCommand::Init { dir } => Ok(init(&dir, out)?),
        CertsCommand::Host { names, dir, replace } => host(&names, &dir, replace, out),
    }
}

fn init(dir: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("{} cannot be created", dir.display()))?;
    let authority = CertifiedIssuer::self_signed(authority(), KeyPair::generate()?)?;
    let (certificate, key) = (dir.join("ca.crt"), dir.join("ca.key"));
    // The key first: a certificate without its key is useless.
    write_new(&key, 0o600, &authority.key().serialize_pem())?;
    write_new(&certificate, 0o644, &authority.pem())?;
    writeln!(
        out,
        "{}: give it to all clients, as --ca-file\n{}: keep it here, because it can sign certificates for every host",
        certificate.display(),
        key.display()
    )?;
    Ok(())
}

/// The authority without its key. Only its name and its key count for the certificates that it signs.
fn authority() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "Reelyard yard authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    limit(&mut params, CA_DAYS);
    params
}

fn host(
    names: &[String],
    dir: &Path,
    replace: bool,
    out: &mut dyn Write,
) -> Result<(), CommandFailure> {
    let [first, ..] = names else {
        return Err(CommandFailure::Usage("name a host".to_owned()));
    };
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
    let read = |name: &str| {
        let path = dir.join(name);
        std::fs::read_to_string(&path).map_err(|error| {
            let path = path.display();
            CommandFailure::Usage(format!(
                "{path} cannot be read: {error}. Run \"reelyard certs init\" first."
            ))
        })
    };
    let ca_key = read("ca.key")?;
    let file = first.replace(':', "_");
    let (certificate, key) = (dir.join(format!("{file}.crt")), dir.join(format!("{file}.key")));
    Ok(sign(names, &ca_key, (&certificate, &key, replace), out)?)
}

/// Signs a certificate for these names, and writes it with its key.
fn sign(
    names: &[String],
    ca_key: &str,
    (certificate, key, replace): (&Path, &Path, bool),
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let issuer = Issuer::new(authority(), KeyPair::from_pem(ca_key)?);
    let mut params = CertificateParams::new(names)?;
    if let Some(name) = names.iter().find(|name| name.parse::<IpAddr>().is_err()).or(names.first())
    {
        params.distinguished_name.push(DnType::CommonName, name.as_str());
    }
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    limit(&mut params, HOST_DAYS);
    let own = KeyPair::generate()?;
    let signed = params.signed_by(&own, &issuer)?;
    let write = if replace { replace_file } else { write_new };
    write(key, 0o600, &own.serialize_pem())?;
    write(certificate, 0o644, &signed.pem())?;
    let shown = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    writeln!(
        out,
        "certificate = {:?}\nkey = {:?}\nPut these two lines below [tls] of the host's configuration, and reload. \
         The user of the node must be able to read the key.",
        shown(certificate).display().to_string(),
        shown(key).display().to_string()
    )?;
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
