//! Removing what killed makers left, and nothing else.

use crate::maker::Maker;
use crate::namespace::{FOLDER, remove_name};
use std::io;
use std::path::Path;

/// What a sweep found.
#[derive(Debug, Default)]
pub struct Swept {
    /// By their names.
    pub removed: Vec<String>,
    /// What could not be removed, and why.
    pub kept: Vec<(String, io::Error)>,
}

/// Removes what carries the mark of a process that no longer lives.
pub fn sweep() -> Swept {
    let mut swept = Swept::default();
    for name in marked().filter(|(_, maker)| !maker.is_alive()).map(|m| m.0) {
        match remove_name(&Path::new(FOLDER).join(&name)) {
            Ok(()) => swept.removed.push(name),
            Err(error) => swept.kept.push((name, error)),
        }
    }
    swept
}

/// Names of what the beds of process `pid` have not removed.
pub fn leftovers(pid: u32) -> Vec<String> {
    let of_pid = marked().filter(|(_, maker)| maker.pid() == pid);
    of_pid.map(|(name, _)| name).collect()
}

fn marked() -> impl Iterator<Item = (String, Maker)> {
    // Before the first namespace is made the folder does not exist.
    let entries = Path::new(FOLDER).read_dir().into_iter().flatten();
    entries.filter_map(|entry| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        let maker = Maker::of(&name)?;
        Some((name, maker))
    })
}
