//! Rates from runs.

use crate::exit::Failure;
use std::path::Path;
use unbloat_responsiveness::LoadedDirection;
use unbloat_units::Both;

/// What a test says of each direction.
pub fn of_test(run: &Path) -> Result<Both<Option<LoadedDirection>>, Failure> {
    let tested = crate::loadtest::read(run)?;
    if let Some(reason) = tested.verdict.fatal().next() {
        return Err(format!(
            "{run} is not valid: {reason}; run the test again",
            run = run.display()
        )
        .into());
    }
    Ok(Both::of(|way| tested.verdict.of(way).cloned()))
}
