//! One owner's changes to one thing.

use crate::error::UndoError;
use crate::folder::Entry;
use crate::journals::{Journals, Lock};
use crate::netlink::Netlink;
use crate::record::{Head, Line};
use crate::resource::{Purpose, Resource};
use crate::step::Step;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use tracing::info;

/// What its owner may change, and how that is undone. Dropped, it undoes itself.
///
/// It is undone in the namespace in which it was taken; settings and nftables in that of the thread that undoes it.
#[derive(Debug)]
pub struct Claim {
    pub(crate) entry: Entry,
    pub(crate) file: Lock,
    pub(crate) netlink: Netlink,
    pub(crate) head: Head,
    pub(crate) steps: Vec<Step>,
    /// Nothing is to be undone when it is dropped.
    pub(crate) is_settled: bool,
}

impl Claim {
    /// Becomes the owner. What a killed owner left is undone first.
    pub fn take(resource: &Resource, purpose: &Purpose) -> Result<Claim, UndoError> {
        Journals::system()?.take(resource, purpose)
    }

    /// Becomes the owner of what another command kept; none if nobody did. It is kept still unless it is undone.
    pub fn kept(resource: &Resource) -> Result<Option<Claim>, UndoError> {
        Journals::system()?.kept(resource)
    }

    pub fn resource(&self) -> &Resource {
        &self.head.resource
    }

    /// What it was taken for.
    pub fn purpose(&self) -> &Purpose {
        &self.head.purpose
    }

    /// Writes down how to undo what is done next.
    pub fn before(&mut self, step: Step) -> Result<(), UndoError> {
        self.write(&Line::Step(step.clone()))?;
        info!(resource = %self.head.resource, change = step.name(), "journal: how to undo the next change");
        self.steps.push(step);
        Ok(())
    }

    /// Lets a command that changes what is claimed hold the claim as long as it runs: where this process is killed, nobody undoes a change
    /// that is still being made.
    pub fn lend(&self, command: &mut Command) {
        let file = self.file.0.as_raw_fd();
        let inherit = move || -> io::Result<()> {
            // SAFETY: the child has this descriptor as its parent had it when it was forked.
            let file = unsafe { BorrowedFd::borrow_raw(file) };
            Ok(rustix::io::fcntl_setfd(file, rustix::io::FdFlags::empty())?)
        };
        // SAFETY: between fork and program there is one system call, which allocates nothing.
        unsafe { command.pre_exec(inherit) };
    }

    /// Files of this claim, with their texts. A link has what it points to.
    pub fn files(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.steps.iter().filter_map(Step::file_text)
    }

    /// An error if somebody else has changed a file of this claim, which would then not be removed.
    pub fn check_unedited(&self) -> Result<(), UndoError> {
        let edited = self.steps.iter().find_map(Step::edited);
        edited.map_or(Ok(()), |path| {
            Err(UndoError::Edited {
                path: path.to_owned(),
            })
        })
    }

    /// Undoes all steps, the last one first, and gives the claim up. Where one cannot be undone the others are, and all
    /// stay written down for [`crate::recover`].
    pub fn undo(mut self) -> Result<(), UndoError> {
        self.is_settled = true;
        let let_go = self.keep_no_longer();
        let_go.map_err(|source| self.entry.failed(source))?;
        self.undo_all()
    }

    /// What was kept, and is half undone when this process is killed, is for others to undo.
    fn keep_no_longer(&self) -> io::Result<()> {
        let kept = Line::Kept.to_text();
        let mut last = vec![0; kept.len()];
        let file = &self.file.0;
        let Some(begin) = file.metadata()?.len().checked_sub(kept.len() as u64) else {
            return Ok(());
        };
        file.read_exact_at(&mut last, begin)?;
        if last != kept.as_bytes() {
            return Ok(());
        }
        file.set_len(begin)?;
        // Who undoes it now: so others know that its owner lives. A full disk is no reason not to undo it.
        let owner = Head {
            pid: std::process::id(),
            ..self.head.clone()
        };
        let mut file = file;
        let _ = file.write_all(Line::Claim(owner).to_text().as_bytes());
        Ok(())
    }

    /// Undoes nothing, and forgets how: what was claimed is another program's by now.
    pub fn give_up(mut self) -> Result<(), UndoError> {
        self.is_settled = true;
        self.entry.remove()
    }

    /// Lets the change outlast this process: nobody but [`Claim::kept`] takes it over.
    pub fn keep(mut self) -> Result<(), UndoError> {
        self.write(&Line::Kept)?;
        info!(resource = %self.head.resource, "the change is kept");
        self.is_settled = true;
        Ok(())
    }

    pub(crate) fn write(&mut self, line: &Line) -> Result<(), UndoError> {
        let text = line.to_text();
        let mut written = self.file.0.write_all(text.as_bytes());
        if self.head.resource.outlasts_boot() {
            written = written.and_then(|()| self.file.0.sync_data());
        }
        written.map_err(|source| self.entry.failed(source))
    }

    fn undo_all(&mut self) -> Result<(), UndoError> {
        let mut failures = Vec::new();
        for step in self.steps.iter().rev() {
            let change = step.name();
            match step.undo(&self.netlink) {
                Ok(()) => info!(resource = %self.head.resource, change, "undone"),
                Err(error) => {
                    info!(resource = %self.head.resource, change, %error, "not undone");
                    failures.push(format!("{change}: {error}"));
                }
            }
        }
        if !failures.is_empty() {
            return Err(UndoError::NotUndone { failures });
        }
        // While it is locked: whoever waits for it finds that the name is gone or another file's.
        self.entry.remove()
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !self.is_settled
            && let Err(error) = self.undo_all()
        {
            // A panic here would be one within a drop; who reads may be gone.
            let _ = writeln!(io::stderr(), "unbloat: {}: {error}", self.head.resource);
        }
    }
}
