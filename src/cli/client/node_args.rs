//! The node that a command calls: from its options, from a context, or on this host.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use reelyard_core::bounded_read::{self, InputSource};
use reelyard_core::token::SharedToken;
use reelyard_protocol::boxes::Reason;
use reelyard_protocol::http_client;
use reelyard_protocol::node_address::{BadNodeAddress, NodeAddresses};
use reqwest::{ClientBuilder, Url};

use super::contexts::{BadContextName, ContextCredential, ContextFile, ContextName, SavedContext};
use super::local_token;
use super::notice::print_notice;
use crate::box_client::{BoxClient, BoxClientError};
use crate::cli::output::OutputArgs;
use crate::cli::support::failure::CommandFailure;

/// Longest wait of commands for boxes for a node on this host that restarts. Jobs survive its restart.
const RESTART: Duration = Duration::from_secs(10);

/// The node without an option and without a context.
const LOCAL_NODE: &str = "http://127.0.0.1:8080";

/// Variables of the environment that replace options.
const URL_VARIABLE: &str = "REELYARD_URL";
const CONTEXT_VARIABLE: &str = "REELYARD_CONTEXT";
const TOKEN_VARIABLE: &str = "REELYARD_TOKEN";
const TOKEN_FILE_VARIABLE: &str = "REELYARD_TOKEN_FILE";
const CA_FILE_VARIABLE: &str = "REELYARD_CA_FILE";

/// Help heading of the options that every API command has.
const GLOBAL: &str = "Global options";

/// The node to call, and the output format.
#[derive(Clone, Args)]
pub struct NodeArgs {
    /// URL of the node, or those of several nodes of one cluster, separated by commas. Without a scheme, it is http.
    /// Default: REELYARD_URL, that of the context, or http://127.0.0.1:8080.
    #[arg(long, global = true, help_heading = GLOBAL)]
    url: Option<String>,
    /// Context to use instead of the current one, or REELYARD_CONTEXT. It takes precedence over the environment. See
    /// "reelyard context".
    #[arg(long, global = true, help_heading = GLOBAL)]
    context: Option<ContextName>,
    /// API token. Prefer --token-file or REELYARD_TOKEN: other users can see command lines. Without a
    /// token, a command uses that of the context. On the host of the node it reads the administrator's
    /// token, if you may read it.
    #[arg(long, global = true, help_heading = GLOBAL)]
    token: Option<String>,
    /// File with the API token, or REELYARD_TOKEN_FILE.
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// File with certificates (PEM) of the authority that signed the node's certificate. Default:
    /// REELYARD_CA_FILE, that of the context, or the authorities of the system.
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Reason of a change, for the audit of the node.
    // Commands with a reason of their own declare the same argument, so both have the same type.
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "TEXT", value_parser = Reason::new)]
    reason: Option<Reason>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The nodes to call, with the credential for them.
#[derive(Debug)]
pub struct NodeTarget {
    /// Addresses of the nodes of one cluster.
    pub nodes: NodeAddresses,
    /// Token or session for them.
    pub token: Option<SharedToken>,
    /// File with certificates of its authority. Without one, the authorities of the system.
    pub ca_file: Option<PathBuf>,
    /// Reason of the changes, for the audit.
    pub reason: Option<String>,
}

impl NodeTarget {
    /// The node of a context, with its credential.
    ///
    /// # Errors
    /// The context has a bad URL, or its token cannot be read.
    pub fn of_context(context: &SavedContext) -> Result<Self, CommandFailure> {
        let token = match &context.credential {
            Some(ContextCredential::Session(session)) => {
                Some(token_of("the session of the context", session)?)
            }
            Some(ContextCredential::TokenFile(file)) => {
                Some(token_in("the token file of the context", file)?)
            }
            None => None,
        };
        let ca_file = context.ca_file.clone();
        Ok(NodeTarget { nodes: context.url.clone(), token, ca_file, reason: None })
    }

    /// An HTTP client that trusts the certificates of the nodes.
    pub fn http(&self) -> Result<ClientBuilder, CommandFailure> {
        http_of(&self.nodes, self.ca_file.as_deref())
    }
}

fn http_of(nodes: &NodeAddresses, ca_file: Option<&Path>) -> Result<ClientBuilder, CommandFailure> {
    if !nodes.have_tls() {
        return Ok(http_client::without_tls());
    }
    let Some(file) = ca_file else { return Ok(http_client::with_system_roots()) };
    http_client::trusting_file(file)
        .map_err(|why| CommandFailure::Usage(format!("--ca-file {}: {why}", file.display())))
}

impl NodeArgs {
    /// The context that the command uses, and its name. A URL of an option or of the environment uses none, so that
    /// the credential of a context goes to its own node only.
    pub fn context<'a>(
        &self,
        file: &'a ContextFile,
    ) -> Result<Option<(&'a ContextName, &'a SavedContext)>, CommandFailure> {
        if let Some(name) = &self.context {
            return file.get(name).map(Some);
        }
        if self.url.is_some() || self.of_environment(URL_VARIABLE).is_some() {
            return Ok(None);
        }
        match self.of_environment(CONTEXT_VARIABLE) {
            Some(name) => {
                let name = name.parse().map_err(|bad: BadContextName| {
                    CommandFailure::Usage(format!("{CONTEXT_VARIABLE}: {bad}"))
                })?;
                file.get(&name).map(Some)
            }
            None => Ok(file.current()),
        }
    }

    /// The context that `--context` names, known or not.
    pub fn context_name(&self) -> Option<&ContextName> {
        self.context.as_ref()
    }

    /// The addresses of `--url` or of the environment, or `otherwise`, or that of a node on this host.
    pub fn nodes_or(
        &self,
        otherwise: Option<&NodeAddresses>,
    ) -> Result<NodeAddresses, CommandFailure> {
        let of_environment = self.of_environment(URL_VARIABLE);
        match (self.url.as_deref().or(of_environment.as_deref()), otherwise) {
            (Some(given), _) => addresses_of(given),
            (None, Some(otherwise)) => Ok(otherwise.clone()),
            (None, None) => addresses_of(LOCAL_NODE),
        }
    }

    /// The URL of the node that is called first.
    ///
    /// # Errors
    /// An option or the file of contexts is wrong.
    pub fn url(&self) -> Result<Url, CommandFailure> {
        let file = ContextFile::read()?;
        let context = self.context(&file)?.map(|(_, context)| context);
        Ok(self.nodes_or(context.map(|context| &context.url))?.first().clone())
    }

    /// The file of `--ca-file` or of the environment, as an absolute path.
    pub fn ca_file(&self) -> Option<PathBuf> {
        let of_environment = self.of_environment(CA_FILE_VARIABLE).map(PathBuf::from);
        let file = self.ca_file.clone().or(of_environment)?;
        Some(std::path::absolute(&file).unwrap_or(file))
    }

    /// The node, and the credential for it. A node on this host may be restarting for `patience`.
    ///
    /// # Errors
    /// An option or the file of contexts is wrong.
    pub fn target(&self, patience: Duration) -> Result<NodeTarget, CommandFailure> {
        let file = ContextFile::read()?;
        let context = self.context(&file)?.map(|(_, context)| context);
        let nodes = self.nodes_or(context.map(|context| &context.url))?;
        let of_context = context.map(NodeTarget::of_context).transpose()?;
        let own_ca_file = of_context.as_ref().and_then(|own| own.ca_file.clone());
        let ca_file = self.ca_file().or(own_ca_file);
        // A URL beside --context may name another node: then the credential of the context is not sent.
        let of_context = of_context.filter(|own| own.nodes.include(&nodes));
        let of_context = of_context.and_then(|own| own.token);
        let token = match self.given_token()?.or(of_context) {
            Some(token) => Some(token),
            None => local_token::find(&nodes, http_of(&nodes, ca_file.as_deref())?, patience),
        };
        Ok(NodeTarget {
            nodes,
            token,
            ca_file,
            reason: self.reason.as_ref().map(ToString::to_string),
        })
    }

    /// The token of the options, or of the environment.
    fn given_token(&self) -> Result<Option<SharedToken>, CommandFailure> {
        if let Some(text) = self.token.as_deref().filter(|text| !text.is_empty()) {
            return token_of("--token", text).map(Some);
        }
        if let Some(file) = &self.token_file {
            return token_in("--token-file", file).map(Some);
        }
        if let Some(text) = self.of_environment(TOKEN_VARIABLE) {
            return token_of(TOKEN_VARIABLE, &text).map(Some);
        }
        let file = self.of_environment(TOKEN_FILE_VARIABLE);
        file.map(|file| token_in(TOKEN_FILE_VARIABLE, Path::new(&file))).transpose()
    }

    /// A variable of the environment. Beside `--context` none counts, because it may be meant for another node.
    fn of_environment(&self, name: &str) -> Option<String> {
        let value = std::env::var(name).ok().filter(|value| !value.is_empty());
        value.filter(|_| self.context.is_none())
    }

    /// A box client for the node. It does not connect yet.
    pub fn box_client(&self) -> Result<BoxClient, CommandFailure> {
        let usage = |error: BoxClientError| CommandFailure::Usage(format!("--url: {error}"));
        let target = self.target(RESTART)?;
        let http =
            target.http()?.default_headers(super::reason::headers(target.reason.as_deref())?);
        BoxClient::over(http, target.nodes, target.token, print_notice).map_err(usage)
    }
}

/// The addresses of nodes from their text. Without a scheme they are http.
///
/// # Errors
/// One is no URL of http or https, or it has a user name or a password.
pub fn addresses_of(given: &str) -> Result<NodeAddresses, CommandFailure> {
    let read = given.parse();
    read.map_err(|bad: BadNodeAddress| CommandFailure::Usage(format!("--url: {bad}")))
}

fn token_of(option: &str, text: &str) -> Result<SharedToken, CommandFailure> {
    SharedToken::new(text).map_err(|bad| CommandFailure::Usage(format!("{option}: {bad}")))
}

fn token_in(option: &str, file: &Path) -> Result<SharedToken, CommandFailure> {
    let shown = file.display();
    let text = bounded_read::read_text(file, InputSource::File).map_err(|error| {
        CommandFailure::Usage(format!("{option}: {shown} cannot be read: {error}"))
    })?;
    token_of(&format!("{option}: {shown}"), text.trim())
}

impl std::fmt::Debug for NodeArgs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NodeArgs").finish_non_exhaustive()
    }
}
