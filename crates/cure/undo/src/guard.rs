//! What a killed owner changed is undone at once.

use crate::error::UndoError;
use crate::journals::Journals;
use rustix::process::{Pid, getpid, getppid};
use std::thread::sleep;
use std::time::Duration;
use unbloat_os::guard::{Ended, Guard};

/// A killed process gives up its locks before its children get another parent, and soon.
const LOOKS: u32 = 1_000;
const LOOK: Duration = Duration::from_millis(5);

/// For commands that change the host: it undoes what they leave, and what `sweep` finds of what is not in journals. To be called before any thread runs
/// and before anything is claimed: the child would hold the claims. If the guard is killed too, the next start undoes as ever.
pub fn guard(sweep: impl FnOnce()) -> Result<Guard, UndoError> {
    let owner = getpid();
    let forked = Guard::fork(|ended| match ended {
        Ended::LetGo => {}
        Ended::Killed => {
            undo(owner);
            sweep();
        }
    });
    forked.map_err(UndoError::Guard)
}

fn undo(owner: Pid) {
    for _ in 0..LOOKS {
        let is_orphan = getppid() != Some(owner);
        if is_orphan && is_all_undone(owner) {
            return;
        }
        sleep(LOOK);
    }
}

/// Undoes what it can. A command of the owner's may still be at work on what was claimed: nothing of that is undone before it ends. What cannot be
/// undone stays written down for the next start.
fn is_all_undone(owner: Pid) -> bool {
    let Ok(journals) = Journals::system() else {
        return true;
    };
    let _ = journals.recover();
    let is_owners = |pid: u32| i64::from(pid) == i64::from(owner.as_raw_nonzero().get());
    journals.holdings().is_ok_and(|held| {
        held.iter()
            .all(|holding| holding.is_kept || !is_owners(holding.pid))
    })
}
