//! This program as one that root starts at each boot.

use crate::exit::Failure;
use std::env::current_exe;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Its path, if nobody but root can replace it.
pub(super) fn safe() -> Result<String, Failure> {
    let program =
        current_exe().map_err(|error| format!("cannot find the file of this program: {error}"))?;
    for part in program.ancestors() {
        if let Some(why) =
            fault(part).map_err(|error| format!("cannot find the file of this program: {error}"))?
        {
            return Err(format!("root would start {program} at each boot, but {part} {why}; install it where only root can write: sudo install -m 755 {program} /usr/local/bin/unbloat, and run that", program = program.display(), part = part.display()).into());
        }
    }
    Ok(program.to_string_lossy().into_owned())
}

fn fault(part: &Path) -> io::Result<Option<&'static str>> {
    let found = fs::metadata(part)?;
    Ok(if found.uid() != 0 {
        Some("belongs to another user")
    } else if found.mode() & 0o022 != 0 {
        Some("can be written by other users")
    } else {
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_can_replace_is_not_started_by_root() {
        assert_eq!(fault(Path::new("/usr")).unwrap(), None);
        // Even with its sticky bit: the program could be written by whoever made the folder.
        assert!(fault(Path::new("/tmp")).unwrap().is_some());
    }
}
