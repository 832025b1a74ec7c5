//! Active tests, each a process of its own within a budget of bytes.

use super::Args;
use crate::kernel::of_kernel;
use std::fs;
use std::io::{self, Read, Seek};
use std::process::{Child, Command, Stdio};
use unbloat_monitor::{Budget, Probe};
use unbloat_responsiveness::document::Test;
use unbloat_units::{Bytes, Delta, Direction, Time};

/// A short test takes 10 s; one that hangs is ended.
const LONGEST: Delta = Delta::secs(90);
/// Before the first test.
const BEFORE: Delta = Delta::secs(10);
/// Of what a test prints.
const MOST_OUTPUT: u64 = 8 << 20;

pub struct Tests {
    every: Delta,
    server: String,
    words: Vec<String>,
    interface: String,
    budget: Budget,
    due: Time,
    running: Option<Running>,
    pub moved: u64,
}

struct Running {
    child: Child,
    output: fs::File,
    since: Time,
    start_ns: i64,
    /// Bytes that passed the interface before.
    before: u64,
    most: Bytes,
    stopped: Option<String>,
}

impl Tests {
    pub fn new(args: &Args, now: Time) -> Option<Tests> {
        let (every, server) = (args.tests.every?, args.host.clone()?);
        let trust = args.tests.trust.words();
        Some(Tests {
            every,
            server,
            words: trust,
            interface: args.interface.clone(),
            budget: Budget::new(args.tests.budget),
            due: now + BEFORE,
            running: None,
            moved: 0,
        })
    }

    /// Starts a test if one is due, and returns the result of one that has ended.
    pub fn look(&mut self, now: Time, now_ns: i64) -> Option<Probe> {
        if self.running.is_some() {
            return self.running_test(now);
        }
        if now < self.due {
            return None;
        }
        self.due = now + self.every;
        let left = self.budget.left(now);
        if left == Bytes::ZERO {
            return Some(self.failed(now_ns, "the budget of bytes is spent".to_owned()));
        }
        match self.start(now, now_ns, left) {
            Ok(running) => {
                self.running = Some(running);
                None
            }
            Err(error) => Some(self.failed(now_ns, format!("cannot start the test: {error}"))),
        }
    }

    fn start(&self, now: Time, start_ns: i64, most: Bytes) -> io::Result<Running> {
        let output = tempfile::tempfile()?;
        let mut command = Command::new(std::env::current_exe()?);
        command.args([
            "test",
            &self.server,
            "--glance",
            "--json",
            "--no-run",
            "--quiet",
        ]);
        let child = command
            .args(&self.words)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Running {
            child,
            output,
            since: now,
            start_ns,
            before: passed(&self.interface).unwrap_or(0),
            most,
            stopped: None,
        })
    }

    fn running_test(&mut self, now: Time) -> Option<Probe> {
        let running = self.running.as_mut()?;
        let all = passed(&self.interface).unwrap_or(running.before);
        let bytes = all.saturating_sub(running.before);
        let is_over = match running.child.try_wait() {
            Ok(status) => status.is_some(),
            Err(_) => true,
        };
        if !is_over {
            let late = now.since(running.since) > LONGEST;
            if bytes >= running.most.as_u64() || late {
                running.stopped = Some(match late {
                    true => "stopped: it took too long".to_owned(),
                    false => format!("stopped at the budget of {}", running.most),
                });
                let _ = running.child.kill();
            }
            return None;
        }
        let ended = self.running.take()?;
        self.budget.spend(now, Bytes::new(bytes));
        self.moved += bytes;
        let start_ns = ended.start_ns;
        let result = match ended.stopped {
            Some(why) => Err(why),
            None => read(ended.output),
        };
        Some(match result {
            Ok(test) => self.probe(start_ns, bytes, &test),
            Err(why) => Probe {
                bytes,
                ..self.failed(start_ns, why)
            },
        })
    }

    fn probe(&self, start_ns: i64, bytes: u64, test: &Test) -> Probe {
        let of = |direction: Direction| {
            let all = test.verdict.directions.iter();
            all.clone().find(|one| one.direction == direction)
        };
        Probe {
            start_ns,
            server: self.server.clone(),
            error: None,
            grade: test.verdict.grade.clone(),
            added_down_ms: of(Direction::Down).map(|one| one.added_p95.as_ms()),
            added_up_ms: of(Direction::Up).map(|one| one.added_p95.as_ms()),
            down_bps: of(Direction::Down).map(|one| one.delivered.as_bps_f64()),
            up_bps: of(Direction::Up).map(|one| one.delivered.as_bps_f64()),
            bytes,
        }
    }

    fn failed(&self, start_ns: i64, error: String) -> Probe {
        Probe {
            start_ns,
            server: self.server.clone(),
            error: Some(error),
            grade: None,
            added_down_ms: None,
            added_up_ms: None,
            down_bps: None,
            up_bps: None,
            bytes: 0,
        }
    }
}

impl Drop for Tests {
    fn drop(&mut self) {
        if let Some(running) = &mut self.running {
            let _ = running.child.kill();
            let _ = running.child.wait();
        }
    }
}

fn read(mut output: fs::File) -> Result<Test, String> {
    let mut text = String::new();
    output.rewind().map_err(|error| error.to_string())?;
    let read = output.take(MOST_OUTPUT).read_to_string(&mut text);
    read.map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|_| "the test gave no result".to_owned())
}

/// Bytes that passed an interface of this network namespace, both ways.
fn passed(interface: &str) -> Option<u64> {
    let text = of_kernel("/proc/thread-self/net/dev").ok()?;
    let mut lines = text.lines().filter_map(|line| line.trim().split_once(':'));
    let (_, counts) = lines.find(|(name, _)| *name == interface)?;
    let counts: Vec<u64> = counts
        .split_whitespace()
        .map_while(|count| count.parse().ok())
        .collect();
    Some(counts.first()?.saturating_add(*counts.get(8)?))
}
