//! `reelyard login` and `reelyard logout`

use std::io::{self, IsTerminal, Write};

use clap::Args;
use reelyard_api::{LoginLinkInfo, NewSessionInfo, WantedSession};

use crate::cli::client::contexts::{ContextCredential, ContextFile, ContextName, SavedContext};
use crate::cli::client::{NodeArgs, NodeClient};
use crate::cli::output::Printer;
use crate::cli::support::failure::CommandFailure;
use crate::cli::support::password;

#[derive(Debug, Args)]
pub struct LoginArgs {
    #[command(flatten)]
    node: NodeArgs,
    /// Name of the user. Default: your name on this system. The password is read from standard input.
    #[arg(conflicts_with = "web")]
    user: Option<String>,
    /// Print a link that begins one session in a browser, with the rights of your token or session.
    #[arg(long)]
    web: bool,
}

#[derive(Debug, Args)]
pub struct LogoutArgs {
    #[command(flatten)]
    node: NodeArgs,
}

/// Begins a session, and stores it in the context.
pub fn run(args: LoginArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let out = &mut args.node.output.printer(out);
    out.refuse_csv()?;
    if args.web {
        return print_link(&args.node, out);
    }
    let contexts = ContextFile::read()?;
    // A context that --context names may be new: then --url says where it is.
    let known = match args.node.context_name() {
        Some(name) => contexts.all().find(|(known, _)| *known == name),
        None => args.node.context(&contexts)?,
    };
    let (name, known) = match known {
        Some((name, context)) => (name.clone(), Some(context.clone())),
        None => (args.node.context_name().cloned().unwrap_or_else(ContextName::default), None),
    };
    let nodes = args.node.nodes_or(known.as_ref().map(|context| &context.url))?;
    let ca_file = args.node.ca_file().or_else(|| known.and_then(|context| context.ca_file));
    let client = NodeClient::for_login(nodes.clone(), ca_file.clone())?;
    let user = user_name(args.user)?;
    let password = Some(password::ask()?);
    let wanted = WantedSession { name: Some(user), password, ..WantedSession::default() };
    let session: NewSessionInfo = client.post_body(&["sessions"], &wanted)?;
    let credential = Some(ContextCredential::Session(session.secret.clone()));
    // Another command may have changed the file during the login.
    let mut contexts = ContextFile::read()?;
    contexts.set(name.clone(), SavedContext { url: nodes, ca_file, credential });
    contexts.choose(&name)?;
    contexts.write()?;
    if out.is_json() {
        return out.json(&session.info);
    }
    let (url, subject, until) =
        (client.node(), &session.info.subject, out.clock(session.info.ends_at.0));
    writeln!(
        out,
        "Logged in to {url} as {subject}, until {until} or 'reelyard logout'. The context {name} has the session."
    )?;
    Ok(())
}

fn user_name(given: Option<String>) -> Result<String, CommandFailure> {
    if let Some(user) = given.or_else(|| std::env::var("USER").ok().filter(|user| !user.is_empty()))
    {
        return Ok(user);
    }
    if !io::stdin().is_terminal() {
        return Err(CommandFailure::Usage("name the user: reelyard login USER".to_owned()));
    }
    write!(io::stderr(), "User: ")?;
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    Ok(line.trim().to_owned())
}

fn print_link(node: &NodeArgs, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    let client = NodeClient::new(node)?;
    let link: LoginLinkInfo = client.post(&["login-links"])?;
    if out.is_json() {
        return out.json(&link);
    }
    let url = client.node();
    writeln!(out, "{}{}", url.as_str().trim_end_matches('/'), link.path)?;
    let until = out.clock(link.expires_at.0);
    writeln!(io::stderr(), "The link begins one session. It is valid until {until}.")?;
    Ok(())
}

/// Ends the session of the context, and removes it there.
pub fn log_out(args: LogoutArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let contexts = ContextFile::read()?;
    let known =
        args.node.context(&contexts)?.map(|(name, context)| (name.clone(), context.clone()));
    let Some((name, context)) = known else {
        let detail = "no context is chosen, so there is no session to end: name one by --context";
        return Err(CommandFailure::Usage(detail.to_owned()));
    };
    if !matches!(context.credential, Some(ContextCredential::Session(_))) {
        let detail = format!("the context {name} has no session");
        return Err(CommandFailure::Usage(detail));
    }
    let url = context.url.clone();
    // A session that the node no longer knows has ended already.
    let ended = NodeClient::of_context(&context)?.delete(&["sessions", "current"]);
    let is_over = match &ended {
        Ok(()) => true,
        Err(CommandFailure::Refused(problem)) => problem.status == 401,
        Err(_) => false,
    };
    if !is_over {
        return ended;
    }
    let mut contexts = ContextFile::read()?;
    contexts.set(name.clone(), SavedContext { credential: None, ..context });
    contexts.write()?;
    writeln!(out, "Logged out of {url}. The context {name} has no session.")?;
    Ok(())
}
