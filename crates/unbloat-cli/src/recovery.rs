//! What killed commands left on this host is undone before another one changes anything.

use crate::print::note;
use unbloat_said::harmless;
use unbloat_undo::{Guard, Journals, Left, Recovered, UndoError, guard};

/// For a command that changes this host, before it has threads or claims: a second process undoes what this one leaves if it is killed.
pub fn guarded() -> Result<Guard, UndoError> {
    guard(sweep)
}

/// Removes what tells by its name that a killed process made it, and so needs no journal: control groups, network namespaces.
pub fn sweep() {
    for name in unbloat_window::sweep() {
        note!("unbloat: removed the control group {name} of a process that was killed");
    }
    for path in unbloat_bed::sweep().removed {
        note!(
            "unbloat: removed {} of a process that was killed",
            path.display()
        );
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
                note!("unbloat: {resource} undone: \"{command}\" had been killed");
            }
            (
                Left::Change {
                    resource, command, ..
                },
                Err(error),
            ) => note!(
                "unbloat: {resource}, changed by \"{command}\", which was killed: {error}; mend that, or undo it by hand, and start any command that changes this host: it tries again"
            ),
            (Left::Unreadable(_), undone) => {
                let error = undone.err().map(|error| harmless(&error.to_string()));
                note!("unbloat: {}", error.unwrap_or_default());
            }
        }
    }
    Ok(journals)
}
