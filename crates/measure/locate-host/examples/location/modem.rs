//! A device that is slower than what is sent through it: packets wait in its ring, below the queue discipline.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use unbloat_units::{Bytes, Rate};

pub struct Modem {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Modem {
    /// Carries packets between two devices, at the rate upwards and, if `both`, downwards.
    pub fn start(up: OwnedFd, down: OwnedFd, rate: Rate, both: bool) -> std::io::Result<Modem> {
        let stop = Arc::new(AtomicBool::new(false));
        let ends = [
            (File::from(up), Some(rate)),
            (File::from(down), both.then_some(rate)),
        ];
        let mut threads = Vec::new();
        for (from, to) in [(0, 1), (1, 0)] {
            let (source, sink) = (ends[from].0.try_clone()?, ends[to].0.try_clone()?);
            let (pace, stop) = (ends[from].1, stop.clone());
            threads.push(thread::spawn(move || carry(source, sink, pace, &stop)));
        }
        Ok(Modem { stop, threads })
    }
}

fn carry(mut source: File, mut sink: File, rate: Option<Rate>, stop: &AtomicBool) {
    let mut packet = [0; 2048];
    let mut free = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        match source.read(&mut packet) {
            Ok(length) => {
                if let Some(rate) = rate {
                    let takes = Bytes::new(length as u64) / rate;
                    free = free.max(Instant::now()) + Duration::from_nanos(takes.as_ns() as u64);
                    thread::sleep(free.saturating_duration_since(Instant::now()));
                }
                // What the other side has no room for is lost.
                let _ = sink.write(&packet[..length]);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                thread::sleep(Duration::from_micros(200));
            }
            Err(_) => return,
        }
    }
}

impl Drop for Modem {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // It has nothing to tell.
            let _ = thread.join();
        }
    }
}
