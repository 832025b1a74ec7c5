//! What `--dry-run` prints.

use crate::print::{self, PrintError};
use schemars::JsonSchema;
use serde::Serialize;

/// What a command would do.
#[derive(Serialize, JsonSchema)]
pub struct Document<'a> {
    /// The steps, in their order.
    would: &'a [String],
}

/// Prints the steps that a command would take, one per line, or as one JSON object.
pub fn print(steps: &[String], is_json: bool) -> Result<(), PrintError> {
    if is_json {
        return print::json(&Document { would: steps });
    }
    // Commands are copied: they stay on one line each.
    steps
        .iter()
        .try_for_each(|step| print::raw(&format!("{step}\n")))
}
