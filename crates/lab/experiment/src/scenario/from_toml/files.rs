//! Files that a scenario names.

/// Gives the contents of a file that a scenario names, uncompressed.
pub type Files<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;
