//! Files with secrets: keys and tokens.

use crate::exit::{Failure, cannot};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use unbloat_os::files;

/// Reads a file. Access by its group is allowed (a server's keys often belong to a group), access by others is an error.
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let failed = cannot("read", path);
    let mut file = files::open_any(path).map_err(failed)?;
    let mode = file.metadata().map_err(failed)?.permissions().mode() & 0o777;
    if mode & 0o007 != 0 {
        return Err(format!("{} is accessible to every user of this machine (mode {mode:03o}); run chmod o-rwx on it", path.display()).into());
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}
