//! A terminal, and a command in it.

#![allow(dead_code, reason = "each test uses its part of it")]

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// On a machine that has other things to do.
const LONGEST: Duration = Duration::from_secs(60);

pub struct Pty {
    /// What the person at the terminal has.
    pub master: File,
    pub child: Child,
}

impl Pty {
    /// Runs a command in a terminal of so many columns.
    pub fn run(command: &mut Command, columns: u16) -> Pty {
        // The command must not hold the master: its end is what is tested.
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let slave = rustix::fs::open(name, slave, Mode::empty()).unwrap();
        let master = File::from(master);
        resize(&master, columns);
        let child = command
            .stdin(slave.try_clone().unwrap())
            .stdout(slave.try_clone().unwrap())
            .stderr(slave)
            .spawn()
            .unwrap();
        Pty { master, child }
    }

    /// Reads what is shown from now on.
    pub fn shown(&self) -> Shown {
        let text = Arc::new(Mutex::new(String::new()));
        let (mut master, into) = (self.master.try_clone().unwrap(), text.clone());
        std::thread::spawn(move || {
            let mut some = [0; 4096];
            // The end of the command is an error of the terminal.
            while let Ok(len @ 1..) = master.read(&mut some) {
                let piece = String::from_utf8_lossy(&some[..len]);
                into.lock().unwrap().push_str(&piece);
            }
        });
        Shown(text)
    }

    pub fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    pub fn end(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            if begun.elapsed() > LONGEST {
                self.child.kill().unwrap();
                self.child.wait().unwrap();
                panic!("it goes on");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

pub fn resize(master: &File, columns: u16) {
    let size = Winsize {
        ws_row: 24,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(master, size).unwrap();
}

/// All that was shown so far.
pub struct Shown(Arc<Mutex<String>>);

impl Shown {
    pub fn text(&self) -> String {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// What was shown until now counts no longer.
    pub fn forget(&self) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    /// Waits until all of this was shown.
    pub fn until(&self, words: &[&str]) -> String {
        let begun = Instant::now();
        loop {
            let text = self.text();
            if words.iter().all(|words| text.contains(words)) {
                return text;
            }
            assert!(
                begun.elapsed() < LONGEST,
                "{words:?} are not in the {} characters shown",
                text.len()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
