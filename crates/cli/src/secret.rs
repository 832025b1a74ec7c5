//! Files with secrets: keys and tokens.

use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use unbloat_os::files;

#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error(
        "{} is accessible to every user of this machine (mode {mode:03o}); run chmod o-rwx on it",
        path.display()
    )]
    Open { path: PathBuf, mode: u32 },
}

/// Reads a file. Access by its group is allowed (a server's keys often belong to a group), access by others is an error.
pub fn read(path: &Path) -> Result<Vec<u8>, SecretError> {
    let failed = |source| SecretError::Read {
        path: path.to_owned(),
        source,
    };
    let mut file = files::open_any(path).map_err(failed)?;
    let mode = file.metadata().map_err(failed)?.permissions().mode() & 0o777;
    if mode & 0o007 != 0 {
        let path = path.to_owned();
        return Err(SecretError::Open { path, mode });
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}
