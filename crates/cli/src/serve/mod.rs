//! `unbloat serve`: the server for live tests.

mod args;
mod told;
mod unit;

pub use args::Args;

use crate::events::bar_target;
use crate::exit::Exit;
use crate::metrics::MetricsError;
use crate::print::{self, PrintError, note};
use crate::stop::stop_on_ctrl_c;
use args::ArgsError;
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use unbloat_server::{Addresses, Counts, ServeError, Server, become_user};

const REDRAWS: Duration = Duration::from_millis(500);

#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error(transparent)]
    Args(#[from] ArgsError),
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error("cannot install the Ctrl-C handler: {0}")]
    Stop(#[from] ctrlc::Error),
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    #[error(transparent)]
    Print(#[from] PrintError),
}

pub fn run(args: &Args) -> Result<Exit, CommandError> {
    if args.unit {
        print::raw(&args.unit_file(std::env::args().skip(1)))?;
        return Ok(Exit::Complete);
    }
    let server = Server::bind(&args.options()?)?;
    let counted = server.counts();
    args.metrics
        .serve("serve", move || told::page(&counted()))?;
    match args.user() {
        Some(name) => become_user(name)?,
        None if rustix::process::geteuid().is_root() => {
            note!(
                "unbloat: warning: serving untrusted clients as root; drop privileges with --user NAME"
            );
        }
        None => {}
    }
    let at = server.addresses();
    if args.is_json() {
        print::json(at)?;
    }
    announce(at);
    let stop = stop_on_ctrl_c()?;
    let counts = server.counts();
    let is_over = AtomicBool::new(false);
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| show(&counts, &is_over));
        let ended = server.run(&stop);
        is_over.store(true, Ordering::Relaxed);
        ended
    });
    ended?;
    note!("{}", sum(&counts()));
    Ok(Exit::Complete)
}

fn announce(at: &Addresses) {
    let quic = match cfg!(feature = "http3") {
        true => "; QUIC over UDP",
        false => "",
    };
    note!("listening on {} (TLS over TCP{quic})", at.tls);
    if let Some(plain) = at.plain {
        note!("             {plain} (TCP without TLS)");
    }
    if let Some(echo) = at.echo {
        note!("             {echo} (irtt over UDP)");
    }
    note!("certificate  SHA-256 {}", at.fingerprint);
}

/// Redraws a status line, on a terminal only.
fn show(counts: &(impl Fn() -> Counts + Sync), is_over: &AtomicBool) {
    let bar = ProgressBar::with_draw_target(None, bar_target(false));
    let style = ProgressStyle::with_template("{spinner} {msg}").expect("a template of ours");
    bar.set_style(style);
    while !is_over.load(Ordering::Relaxed) {
        bar.set_message(now(&counts()));
        bar.tick();
        std::thread::sleep(REDRAWS);
    }
    bar.finish_and_clear();
}

fn now(counts: &Counts) -> String {
    format!(
        "{} connections, {} sessions  {}",
        counts.connections,
        counts.sessions,
        sum(counts)
    )
}

fn sum(counts: &Counts) -> String {
    format!(
        "{} requests, {} down, {} up, {} echoes, {} refused, {} failed",
        counts.requests,
        HumanBytes(counts.down_bytes),
        HumanBytes(counts.up_bytes),
        counts.echoed,
        counts.refused,
        counts.failed
    )
}
