//! What killed commands left on this host is undone before another one changes anything.

use crate::print::note;
use unbloat_said::harmless;
use unbloat_undo::{Journals, Left, Recovered, UndoError};

pub fn journals() -> Result<Journals, UndoError> {
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
