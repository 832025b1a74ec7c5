//! `unbloat drwa`: controls the receive windows of a control group.

mod args;
mod text;

pub use args::{Args, standard};
pub use text::Line;

use crate::dry_run;
use crate::events;
use crate::exit::{Exit, Failure};
use crate::interface::{self};
use crate::print::{self, PrintError};
use crate::recovery;
use crate::span::duration;
use crate::stop::stop_on_ctrl_c;
use crate::terminal;
use console::Term;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{self, stderr};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};
use unbloat_rwnd::{Cgroup, Flow, Hold, Router, WindowError, guard, own_name};

/// Interval at which the loop checks whether to stop.
const NAP: Duration = Duration::from_millis(50);
/// Time that a command has to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

pub fn run(args: &Args) -> Result<Exit, Failure> {
    args.interface().map_or(Ok(()), interface::check)?;
    if args.dry_run {
        dry_run::print(&steps(args)?, args.json)?;
        return Ok(Exit::Complete);
    }
    if let Some(device) = &args.lan {
        let options = args.options();
        let router = Router::begin(device, &options.law, &options.ports)?;
        let stop = stop_on_ctrl_c()?;
        return look(args, &|| router.flows(), None, &stop);
    }
    recovery::sweep();
    let group = match &args.cgroup {
        Some(name) => Cgroup::open(name)?,
        None => Cgroup::make(&own_name())?,
    };
    let is_own = args.cgroup.is_none();
    let held = hold(args, group, is_own);
    if held.is_err() && is_own {
        // The error is already reported; only the control group is left to remove.
        sweep_own();
    }
    held
}

/// What `run` would do; changes nothing.
fn steps(args: &Args) -> Result<Vec<String>, Failure> {
    let options = args.options();
    options.check()?;
    let law = options.law.name();
    if let Some(device) = &args.lan {
        return Ok(vec![
            format!("attach BPF programs to {device} (tc, ingress and egress)"),
            format!("lower the receive windows that hosts behind {device} offer, by {law}"),
        ]);
    }
    let mut steps = Vec::new();
    let group = match &args.cgroup {
        Some(name) => Cgroup::open(name)?.name().to_owned(),
        None => {
            let name = own_name();
            steps.push(format!("create control group {name}"));
            name
        }
    };
    steps.push(format!(
        "attach a BPF program to control group {group} (sockops)"
    ));
    steps.push(format!(
        "limit the receive windows of its new TCP connections, by {law}"
    ));
    if !args.command.is_empty() {
        let words: Vec<_> = args
            .command
            .iter()
            .map(|word| word.to_string_lossy())
            .collect();
        steps.push(format!("run in control group {group}: {}", words.join(" ")));
    }
    Ok(steps)
}

fn sweep_own() {
    if let Ok(group) = Cgroup::open(&own_name()) {
        let _ = group.remove();
    }
}

fn hold(args: &Args, group: Cgroup, is_own: bool) -> Result<Exit, Failure> {
    group.claim()?;
    let mut hold = Hold::begin(&group, &args.options())?;
    // Must run before a second thread exists.
    let guard = guard(&mut hold, &group, is_own).map_err(|error| {
        format!("cannot start the process that releases the windows if this one is killed: {error}")
    })?;
    let stop = stop_on_ctrl_c()?;
    let mut child = match args.command.is_empty() {
        true => None,
        false => Some(start(args, &group)?),
    };
    let looked = look(args, &|| hold.flows(), child.as_mut(), &stop);
    if let Some(child) = &mut child {
        end(child);
    }
    hold.release()?;
    drop(guard);
    looked
}

fn start(args: &Args, group: &Cgroup) -> Result<Child, Failure> {
    let (program, rest) = args.command.split_first().expect("the caller has looked");
    let mut command = Command::new(program);
    command.args(rest);
    if args.json {
        command.stdout(Stdio::from(stderr_again().map_err(PrintError::from)?));
    }
    group.admit(&mut command)?;
    command
        .spawn()
        .map_err(|source| format!("cannot run {:?}: {source}", program.to_string_lossy()).into())
}

fn stderr_again() -> io::Result<std::os::fd::OwnedFd> {
    use std::os::fd::AsFd;
    stderr().as_fd().try_clone_to_owned()
}

type Flows<'a> = &'a dyn Fn() -> Result<Vec<Flow>, WindowError>;

/// Reports the flows until there is a reason to end.
fn look(
    args: &Args,
    flows: Flows<'_>,
    mut child: Option<&mut Child>,
    stop: &AtomicBool,
) -> Result<Exit, Failure> {
    let begun = Instant::now();
    let span = args.duration.map(duration);
    let mut view = View::new(args);
    let mut due = begun + args.every();
    loop {
        let status = child
            .as_mut()
            .map_or(Ok(None), |running| running.try_wait())
            .map_err(|error| format!("cannot wait for the command: {error}"))?;
        let is_over = span.is_some_and(|most| begun.elapsed() >= most);
        let is_stopped = stop.load(Ordering::Relaxed);
        let ends = status.is_some() || is_over || is_stopped;
        if Instant::now() >= due || ends {
            due += args.every();
            if !view.show(&flows()?, ends)? {
                return Ok(Exit::Complete);
            }
        }
        match status {
            Some(status) if !status.success() => return Ok(ended(status)),
            _ if is_stopped => return Ok(Exit::Interrupted),
            _ if ends => return Ok(Exit::Complete),
            _ => sleep(NAP),
        }
    }
}

/// The exit code that a shell would report.
fn ended(status: ExitStatus) -> Exit {
    let by_signal = status.signal().map(|signal| 128 + signal);
    Exit::Of(status.code().or(by_signal).map_or(1, |code| code as u8))
}

fn end(child: &mut Child) {
    if let Ok(None) = child.try_wait() {
        let _ = kill_process(Pid::from_child(child), Signal::TERM);
    }
    let begun = Instant::now();
    while begun.elapsed() < GRACE && matches!(child.try_wait(), Ok(None)) {
        sleep(NAP);
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// JSON lines, a table that is redrawn on a terminal without events, or one table at the end.
struct View {
    is_json: bool,
    term: Term,
    drawn: usize,
}

impl View {
    fn new(args: &Args) -> View {
        View {
            is_json: args.json,
            term: Term::stderr(),
            drawn: 0,
        }
    }

    /// Returns whether the output still has a reader.
    fn show(&mut self, flows: &[Flow], is_last: bool) -> Result<bool, Failure> {
        if self.is_json {
            return match print::json(&Line::of(flows)) {
                // Not an error: the windows are released as at any end.
                Err(_) if print::reader_is_gone() => Ok(false),
                written => Ok(written.map(|()| true)?),
            };
        }
        if self.term.is_term() && !events::are_shown() {
            self.term
                .clear_last_lines(self.drawn)
                .map_err(PrintError::from)?;
        } else if !is_last || flows.is_empty() {
            return Ok(true);
        }
        let table = text::table(flows, terminal::stdout().columns);
        self.drawn = table.lines().count();
        self.term.write_line(&table).map_err(PrintError::from)?;
        Ok(true)
    }
}
