//! Events (`-v`): what the program does, on standard error.

use clap::ArgAction;
use console::style;
use indicatif::ProgressDrawTarget;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tracing::{Event, Level, Subscriber, info};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use unbloat_untrusted::{command_line, in_line};

/// Crates of ours only: libraries log what clients send, with their tokens.
const OURS: &str = "unbloat";

static ARE_SHOWN: AtomicBool = AtomicBool::new(false);
/// Full-screen views that are open.
static VIEWS: AtomicUsize = AtomicUsize::new(0);

#[derive(clap::Args, Clone, Copy, Debug)]
pub struct VerboseArgs {
    /// Print events: -v what is done, -vv why, -vvv rare details
    ///
    /// They go to standard error and replace progress displays. Full-screen views show none on their terminal.
    #[arg(short, long, global = true, display_order = 900, action = ArgAction::Count)]
    verbose: u8,
}

impl VerboseArgs {
    fn level(self) -> LevelFilter {
        match self.verbose {
            0 => LevelFilter::OFF,
            1 => LevelFilter::INFO,
            2 => LevelFilter::DEBUG,
            _ => LevelFilter::TRACE,
        }
    }

    /// Shows events from now on, if they are wanted.
    pub fn begin(self) {
        let level = self.level();
        if level == LevelFilter::OFF {
            return;
        }
        let is_coloured = io::stderr().is_terminal()
            && std::env::var_os("NO_COLOR").is_none_or(|no| no.is_empty());
        let layer = tracing_subscriber::fmt::layer()
            .event_format(Line { is_coloured })
            .with_writer(|| Stderr)
            // What fails is writing to standard error: nobody can be told there, and trying would panic.
            .log_internal_errors(false)
            .with_filter(Targets::new().with_target(OURS, level));
        let subscriber = tracing_subscriber::registry().with(layer);
        tracing::subscriber::set_global_default(subscriber).expect("the only one");
        ARE_SHOWN.store(true, Ordering::Relaxed);
        let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
        info!(
            version = env!("CARGO_PKG_VERSION"),
            command = command_line(words).join(" "),
            "unbloat begins"
        );
    }
}

/// Whether events are shown: what redraws lines of the same terminal is left out then.
pub fn are_shown() -> bool {
    ARE_SHOWN.load(Ordering::Relaxed)
}

/// Where a progress bar is drawn.
pub fn bar_target(is_quiet: bool) -> ProgressDrawTarget {
    match is_quiet || are_shown() {
        true => ProgressDrawTarget::hidden(),
        false => ProgressDrawTarget::stderr(),
    }
}

/// No event is written until this is dropped: a view has the terminal.
#[cfg(feature = "full")]
pub struct Silence(());

#[cfg(feature = "full")]
impl Silence {
    pub fn begin() -> Silence {
        VIEWS.fetch_add(1, Ordering::Relaxed);
        Silence(())
    }
}

#[cfg(feature = "full")]
impl Drop for Silence {
    fn drop(&mut self) {
        VIEWS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Standard error, whose errors must not end what the events are about.
struct Stderr;

impl Write for Stderr {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if VIEWS.load(Ordering::Relaxed) == 0 {
            let _ = io::stderr().write_all(line);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Time, level, target, message and fields on one line.
struct Line {
    is_coloured: bool,
}

impl<S, N> FormatEvent<S, N> for Line
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut out: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut said = String::new();
        context.format_fields(Writer::new(&mut said), event)?;
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ");
        let level = *event.metadata().level();
        let coloured = match level {
            Level::ERROR => style(level).red(),
            Level::WARN => style(level).yellow(),
            Level::INFO => style(level).green(),
            Level::DEBUG => style(level).blue(),
            Level::TRACE => style(level).magenta(),
        };
        let coloured = coloured.force_styling(self.is_coloured);
        let target = event.metadata().target();
        // Fields may quote a server, a router or a tool.
        writeln!(out, "{now} {coloured:>5} {target}: {}", in_line(&said))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_v_shows_one_level_more() {
        let levels = [0, 1, 2, 3, 255].map(|verbose| VerboseArgs { verbose }.level());
        let expected = [
            LevelFilter::OFF,
            LevelFilter::INFO,
            LevelFilter::DEBUG,
            LevelFilter::TRACE,
            LevelFilter::TRACE,
        ];
        assert_eq!(levels, expected);
    }
}
