//! Undoes the changes that killed commands left on this host, before another command changes anything.

use crate::print::note;
use unbloat_undo::{Guard, Journals, Left, Recovered, UndoError, guard};
use unbloat_untrusted::harmless;

/// Starts a second process that undoes the changes of this one if it is killed. Call it before there are threads or claims.
pub fn guarded() -> Result<Guard, UndoError> {
    guard(sweep)
}

/// Removes control groups and network namespaces of killed processes, which their names identify without a journal.
pub fn sweep() {
    for name in unbloat_rwnd::sweep() {
        note!("unbloat: removed control group {name} of a killed process");
    }
    #[cfg(feature = "full")]
    for path in unbloat_netns::sweep().removed {
        note!("unbloat: removed {} of a killed process", path.display());
    }
}

pub fn journals() -> Result<Journals, UndoError> {
    sweep();
    let journals = Journals::system()?;
    for Recovered { left, undone } in journals.recover()? {
        match (left, undone) {
            (
                Left::Change {
                    resource, command, ..
                },
                Ok(()),
            ) => {
                note!("unbloat: {resource} undone: \"{command}\" ended without doing so");
            }
            (
                Left::Change {
                    resource, command, ..
                },
                Err(error),
            ) => note!(
                "unbloat: could not undo {resource}, changed by \"{command}\", which ended without doing so: {error}; fix the cause, or undo the change manually; the next unbloat command that changes this host tries again"
            ),
            (Left::Unreadable(_), undone) => {
                let error = undone.err().map(|error| harmless(&error.to_string()));
                note!("unbloat: {}", error.unwrap_or_default());
            }
        }
    }
    Ok(journals)
}
