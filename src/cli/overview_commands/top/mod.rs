//! `reelyard top`: the yard on a whole screen, with an answer of the node each second.

mod draw;
mod fetching;
mod keys;
mod model;
mod panel;

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use clap::Args;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event};
use reelyard_console::address::ROOT;
use tokio::signal::unix::{SignalKind, signal};

use self::fetching::{Fetched, fetch};
use self::keys::KeyEffect;
use self::model::TopModel;
use self::panel::TopPanel;
use crate::cli::client::{NodeArgs, NodeClient, web_address};
use crate::cli::output::{PrintStyle, Printer};
use crate::cli::support::failure::CommandFailure;

/// Longest wait for a key. The screen is drawn at least this often, so that ages go on.
const KEY_WAIT: Duration = Duration::from_millis(200);

#[derive(Debug, Args)]
pub struct TopArgs {
    #[command(flatten)]
    node: NodeArgs,
    /// Print the address of the console's page that shows the same.
    #[arg(long)]
    web: bool,
}

/// Shows the yard until the user quits.
pub fn run(args: TopArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let out: &mut Printer<'_> = &mut args.node.output.printer(out);
    if args.web {
        return Ok(writeln!(out, "{}", web_address(&args.node, ROOT)?)?);
    }
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        let detail = "reelyard top needs a terminal. Use reelyard status --watch, which also writes to files and pipes";
        return Err(CommandFailure::Usage(detail.to_owned()));
    }
    let client = NodeClient::new(&args.node)?.without_notices();
    let style = PrintStyle { has_shapes: true, ..out.style().clone() };
    // Before the screen changes, so that a wrong address or token is reported as by every command.
    let first = fetch(&client, TopPanel::default(), &style)?;
    let mut model = TopModel::new(first, &style);
    let ended = Arc::new(AtomicBool::new(false));
    watch_signals(&ended)?;
    let (panels, answers) = fetching::start(client, style.clone());
    // Restores the terminal after a panic too.
    let mut terminal = ratatui::try_init()?;
    let outcome = show(&mut terminal, &mut model, &style, &(panels, answers), &ended);
    ratatui::try_restore()?;
    outcome
}

/// Draws and handles keys until the user quits, or the node refuses.
fn show(
    terminal: &mut DefaultTerminal,
    model: &mut TopModel,
    style: &PrintStyle,
    (panels, answers): &(Sender<TopPanel>, Receiver<Result<Fetched, CommandFailure>>),
    ended: &AtomicBool,
) -> Result<(), CommandFailure> {
    while !ended.load(Ordering::Relaxed) {
        while let Ok(answer) = answers.try_recv() {
            model.receive(answer, &style.now())?;
        }
        terminal.draw(|frame| draw::draw(frame, model, &style.now()))?;
        if !event::poll(KEY_WAIT)? {
            continue;
        }
        let Event::Key(key) = event::read()? else { continue };
        match keys::press(model, key) {
            KeyEffect::Quit => return Ok(()),
            // The thread ends only with this process.
            KeyEffect::Panel => drop(panels.send(model.panel)),
            KeyEffect::Nothing => {}
        }
    }
    Ok(())
}

/// Sets `ended` when the process is asked to end, so that the terminal is restored then too.
fn watch_signals(ended: &Arc<AtomicBool>) -> Result<(), CommandFailure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = Arc::clone(ended);
    let mut signals = {
        let _entered = runtime.enter();
        [signal(SignalKind::terminate())?, signal(SignalKind::hangup())?]
    };
    std::thread::spawn(move || {
        let [terminate, hang_up] = &mut signals;
        runtime.block_on(async {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = hang_up.recv() => {}
            }
        });
        ended.store(true, Ordering::Relaxed);
    });
    Ok(())
}
