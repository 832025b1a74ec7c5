//! Users' own commands beside the flows of an experiment.

use crate::error::LabError;
use crate::stage::{Place, Stage};
use std::io;
use std::process::{Child, Stdio};
use std::str::FromStr;
use tracing::debug;

/// A command, and the host on which it runs while the experiment does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    pub host: String,
    /// For a shell.
    pub command: String,
}

/// `client: curl http://server.lab/`
impl FromStr for Beside {
    type Err = String;

    fn from_str(text: &str) -> Result<Beside, String> {
        let parts = text
            .split_once(':')
            .map(|(host, command)| (host.trim(), command.trim()));
        match parts {
            Some((host, command)) if !host.is_empty() && !command.is_empty() => Ok(Beside {
                host: host.to_owned(),
                command: command.to_owned(),
            }),
            _ => Err("write it as HOST: COMMAND, like \"client: ping server.lab\"".to_owned()),
        }
    }
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    pub command: Beside,
    /// None if a signal ended it: that of the run's end, in most cases.
    pub exit_code: Option<i32>,
}

/// Commands that run. They end with this.
pub(crate) struct Commands<'a> {
    running: Vec<(&'a Beside, &'a Place, Child)>,
}

impl<'a> Commands<'a> {
    pub(crate) fn start(
        commands: &'a [Beside],
        stage: &'a Stage,
    ) -> Result<Commands<'a>, LabError> {
        let mut all = Commands {
            running: Vec::new(),
        };
        for command in commands {
            let place = stage.place(&command.host)?;
            let mut shell = place.host.command("sh")?;
            shell.arg("-c").arg(&command.command).stdin(Stdio::null());
            // Standard output is for the run's results.
            shell.stdout(Stdio::from(io::stderr()));
            debug!(host = command.host, command = command.command, "command");
            let child = shell.spawn().map_err(|source| LabError::Command {
                command: command.command.clone(),
                source,
            })?;
            all.running.push((command, place, child));
        }
        Ok(all)
    }

    /// Ends those that still run.
    pub(crate) fn finish(mut self) -> Vec<Ended> {
        let running = std::mem::take(&mut self.running);
        let ended = running
            .into_iter()
            .map(|(command, place, mut child)| Ended {
                command: command.clone(),
                exit_code: end(place, &mut child),
            })
            .inspect(|ended| {
                debug!(
                    command = ended.command.command,
                    exit_code = ended.exit_code,
                    "command ended"
                );
            });
        ended.collect()
    }
}

fn end(place: &Place, child: &mut Child) -> Option<i32> {
    if let Ok(Some(status)) = child.try_wait() {
        return status.code();
    }
    place.host.end_processes();
    child.wait().ok().and_then(|status| status.code())
}

impl Drop for Commands<'_> {
    fn drop(&mut self) {
        for (_, place, child) in &mut self.running {
            end(place, child);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_colon_parts_host_and_command() {
        let beside: Beside = "client: curl http://server.lab:80/".parse().unwrap();
        assert_eq!(beside.host, "client");
        assert_eq!(beside.command, "curl http://server.lab:80/");
        for text in ["ping", ":ping", "client:"] {
            assert!(text.parse::<Beside>().unwrap_err().contains("HOST"));
        }
    }
}
