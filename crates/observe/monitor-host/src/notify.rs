//! Alerts: a command gets them on standard input, as JSON.
//!
//! One thread sends; at most [`WAITING`] wait for it, and none is waited for.

use std::io::{self, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tracing::{info, warn};

/// Alerts that may wait to be sent.
const WAITING: usize = 16;
/// For one alert.
const PATIENCE: Duration = Duration::from_secs(20);

/// Why an alert was not taken.
#[derive(Debug, thiserror::Error)]
enum AlertError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("no answer within {} s", PATIENCE.as_secs())]
    Slow,
    #[error("the command failed with {0}")]
    Failed(std::process::ExitStatus),
}

/// Sends alerts on a thread of its own.
pub struct Notifier {
    queue: Option<SyncSender<String>>,
    thread: Option<JoinHandle<()>>,
}

impl Notifier {
    /// Runs `line` with `/bin/sh` for each alert. `failed` is called with the reason if an alert could not be delivered.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(line: String, failed: impl Fn(String) + Send + 'static) -> io::Result<Notifier> {
        let (queue, alerts) = sync_channel::<String>(WAITING);
        let thread = thread::Builder::new()
            .name("alerts".to_owned())
            .spawn(move || {
                for document in alerts {
                    match run(&line, &document, Instant::now() + PATIENCE) {
                        Ok(()) => info!("alert sent"),
                        // The command is not quoted: the addresses in it may be secrets.
                        Err(error) => {
                            warn!(%error, "alert not sent");
                            failed(format!("alert not sent: {error}"));
                        }
                    }
                }
            })?;
        Ok(Notifier {
            queue: Some(queue),
            thread: Some(thread),
        })
    }

    /// Sends soon; false if too many wait already.
    pub fn send(&self, document: String) -> bool {
        let Some(queue) = &self.queue else {
            return false;
        };
        match queue.try_send(document) {
            Ok(()) => true,
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => false,
        }
    }
}

impl Drop for Notifier {
    /// Waits for what is being sent.
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(line: &str, document: &str, until: Instant) -> Result<(), AlertError> {
    let mut child = Command::new("/bin/sh")
        .args(["-c", line])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()?;
    // A document is far smaller than a pipe's buffer, so this does not wait for the command.
    if let Some(mut input) = child.stdin.take() {
        let _ = input.write_all(document.as_bytes());
    }
    let status = wait(&mut child, until)?;
    match status.success() {
        true => Ok(()),
        false => Err(AlertError::Failed(status)),
    }
}

fn wait(child: &mut Child, until: Instant) -> Result<std::process::ExitStatus, AlertError> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() >= until {
            let _ = child.kill();
            let _ = child.wait();
            return Err(AlertError::Slow);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[test]
    fn a_command_gets_the_document_on_its_standard_input() {
        let check = |line: &str| run(line, "{\"a\":1}", Instant::now() + PATIENCE);
        check("test \"$(cat)\" = '{\"a\":1}'").unwrap();
        check("exit 0").unwrap();
        assert!(matches!(
            check("cat > /dev/null; exit 3"),
            Err(AlertError::Failed(_))
        ));
    }

    #[test]
    fn failures_are_told_and_nobody_waits_for_alerts() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let told_too = Arc::clone(&told);
        let failed = move |text| told_too.lock().unwrap().push(text);
        let notifier = Notifier::start("exit 7".to_owned(), failed).unwrap();
        let sent = (0..3 * WAITING)
            .filter(|_| notifier.send("{}".to_owned()))
            .count();
        assert!(sent >= WAITING);
        drop(notifier);
        assert_eq!(told.lock().unwrap().len(), sent);
    }
}
