//! `reelyard certs`: a private certificate authority for a yard that has none.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use rcgen::ExtendedKeyUsagePurpose;

use crate::cli::support::certificate_authority::{CertificateAuthority, full_path};
use crate::cli::support::failure::CommandFailure;

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
    let (CertsCommand::Init { dir } | CertsCommand::Host { dir, .. }) = &args.command;
    let authority = CertificateAuthority {
        dir,
        name: "Reelyard yard authority",
        created_by: "reelyard certs init",
    };
    match &args.command {
        CertsCommand::Init { .. } => {
            let files = authority.create()?;
            writeln!(
                out,
                "{}: give it to all clients, as --ca-file\n{}: keep it here, because it can sign certificates for every host",
                files.certificate.display(),
                files.key.display()
            )?;
        }
        CertsCommand::Host { names, replace, .. } => {
            let uses = vec![ExtendedKeyUsagePurpose::ServerAuth];
            let files = authority.sign(names, uses, *replace)?;
            writeln!(
                out,
                "certificate = {:?}\nkey = {:?}\nPut these two lines below [tls] of the host's configuration, and reload. \
                 The user of the node must be able to read the key.",
                full_path(&files.certificate),
                full_path(&files.key)
            )?;
        }
    }
    Ok(())
}
