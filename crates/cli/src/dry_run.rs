//! What `--dry-run` prints.

use crate::print::{self, PrintError};
use serde_json::json;

/// Prints the steps that a command would take, one per line, or as one JSON object.
pub fn print(steps: &[String], is_json: bool) -> Result<(), PrintError> {
    if is_json {
        return print::line(json!({ "would": steps }));
    }
    steps.iter().try_for_each(print::line)
}
