//! What killed commands left on this host is undone before another one changes anything.

use unbloat_undo::{Journals, UndoError};

pub fn journals() -> Result<Journals, UndoError> {
    let journals = Journals::system()?;
    for left in journals.recover()? {
        match &left.undone {
            Ok(()) => eprintln!(
                "unbloat: {} undone: \"{}\" had been killed",
                left.resource, left.command
            ),
            Err(error) => eprintln!(
                "unbloat: {}, changed by \"{}\", which was killed: {error}; mend that, or undo it by hand, and start any command that changes this host: it tries again",
                left.resource, left.command
            ),
        }
    }
    Ok(journals)
}
