//! `reelyard cluster certs`: the authority of a cluster, and the certificates of its nodes.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use rcgen::ExtendedKeyUsagePurpose;
use reelyard_cluster::certificate_names;

use crate::cli::support::certificate_authority::{
    CertificateAuthority, CertificateFiles, full_path,
};
use crate::cli::support::failure::CommandFailure;

#[derive(Debug, Args)]
pub struct ClusterCertsArgs {
    #[command(subcommand)]
    command: ClusterCertsCommand,
    /// Directory of the authority. "init" creates it if it is missing.
    #[arg(long, global = true, default_value = "reelyard-cluster-certs")]
    dir: PathBuf,
}

#[derive(Debug, Subcommand)]
enum ClusterCertsCommand {
    /// Create the authority of the cluster: ca.crt for all nodes, and ca.key, which stays here.
    Init,
    /// Create a certificate and a key for a node, signed by the authority.
    Node {
        /// The host of the node's cluster address, and further names. The first one names the files.
        #[arg(required = true)]
        names: Vec<String>,
        /// Replace the files of the same node.
        #[arg(long)]
        replace: bool,
    },
    /// Replace the certificate and the key of a node by new ones with the same names.
    Renew {
        /// The first name of the node.
        name: String,
    },
}

/// Creates an authority, or a certificate of it.
pub fn run(args: ClusterCertsArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let authority = CertificateAuthority {
        dir: &args.dir,
        name: "Reelyard cluster authority",
        created_by: "reelyard cluster certs init",
    };
    match args.command {
        ClusterCertsCommand::Init => {
            let CertificateFiles { certificate, key } = authority.create()?;
            writeln!(
                out,
                "{}: give it to all nodes, as cluster.tls.ca_file\n{}: keep it here, because it can sign \
                 certificates for every node",
                certificate.display(),
                key.display()
            )?;
        }
        ClusterCertsCommand::Node { names, replace } => {
            let files = sign(&authority, &names, replace)?;
            writeln!(
                out,
                "ca_file = {:?}\ncert_file = {:?}\nkey_file = {:?}\nPut these lines below [cluster.tls] of the \
                 node's configuration, and reload. The user of the node must be able to read the key.",
                full_path(&authority.own_files().certificate),
                full_path(&files.certificate),
                full_path(&files.key)
            )?;
        }
        ClusterCertsCommand::Renew { name } => {
            let former = authority.files(&name).certificate;
            let names = certificate_names(&former).map_err(|bad| {
                let hint = "Make one with \"reelyard cluster certs node\".";
                CommandFailure::Usage(format!("{bad}. {hint}"))
            })?;
            // The first name gives the files their names, so it must stay the first one.
            let others = names.into_iter().filter(|other| *other != name);
            let names: Vec<String> = std::iter::once(name.clone()).chain(others).collect();
            let files = sign(&authority, &names, true)?;
            writeln!(
                out,
                "{} and {} are new. Copy them to the node, and reload it.",
                files.certificate.display(),
                files.key.display()
            )?;
        }
    }
    Ok(())
}

/// Nodes call each other, so each is a server and a client.
fn sign(
    authority: &CertificateAuthority<'_>,
    names: &[String],
    replace: bool,
) -> Result<CertificateFiles, CommandFailure> {
    let uses = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    authority.sign(names, uses, replace)
}
