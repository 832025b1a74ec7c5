//! The emulated modem's reports, on a socket: to all who connect, a line of JSON each (`docs/uplink.md`).

use crate::error::LabError;
use std::io::{ErrorKind, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};
use unbloat_emulator::Modem;
use unbloat_units::{Bytes, Delta, Time};
use unbloat_uplink::Bsr;
use unbloat_uplink_host::Report;

/// As often as a phone's periodicBSR-Timer has it.
const EVERY: Delta = Delta::ms(5);
/// Reports that wait to be written; more are left out.
const WAITING: usize = 256;
/// Who may listen at once.
const MOST: usize = 16;

/// A modem that reports to whoever connects to the socket, until it is dropped. `zero_ns` is the zero of its times.
pub(crate) fn reports(path: &Path, zero_ns: i64) -> Result<Modem, LabError> {
    let failed = |source| LabError::Write {
        path: path.to_owned(),
        source,
    };
    let listener = UnixListener::bind(path).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let (tell, hear) = sync_channel(WAITING);
    let path = path.to_owned();
    let thread = std::thread::Builder::new().name("modem".to_owned());
    let run = move || serve(&listener, &hear, &path);
    thread.spawn(run).map_err(LabError::Thread)?;
    let report = move |at: Time, held: Bytes| {
        let report = Report {
            time_ns: Some(zero_ns + at.as_ns()),
            buffered_bytes: Some(held.as_u64()),
            bsr: Some(Bsr::of(held).index()),
        };
        // Nothing here may wait.
        let _ = tell.try_send(report);
    };
    Ok(Modem::new(EVERY, Box::new(report)))
}

/// Writes until nobody tells any more; a listener that does not keep up is cut off.
fn serve(listener: &UnixListener, hear: &Receiver<Report>, path: &Path) {
    let mut listeners: Vec<UnixStream> = Vec::new();
    while let Ok(report) = hear.recv() {
        while let Some(stream) = accept(listener) {
            if listeners.len() < MOST && stream.set_nonblocking(true).is_ok() {
                listeners.push(stream);
            }
        }
        let Ok(mut line) = serde_json::to_vec(&report) else {
            continue;
        };
        line.push(b'\n');
        listeners.retain_mut(|stream| stream.write_all(&line).is_ok());
    }
    let _ = std::fs::remove_file(path);
}

fn accept(listener: &UnixListener) -> Option<UnixStream> {
    loop {
        match listener.accept() {
            Ok((stream, _)) => return Some(stream),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}
