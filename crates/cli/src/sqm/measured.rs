//! Rates from runs.

use super::CommandError;
use std::path::Path;
use unbloat_responsiveness::LoadedDirection;
use unbloat_units::Both;

/// What a test says of each direction.
pub fn of_test(run: &Path) -> Result<Both<Option<LoadedDirection>>, CommandError> {
    let tested = crate::loadtest::read(run)?;
    if let Some(reason) = tested.verdict.fatal().next() {
        return Err(CommandError::Untrusted {
            run: run.display().to_string(),
            reason: reason.to_owned(),
        });
    }
    Ok(Both::of(|way| tested.verdict.of(way).cloned()))
}
