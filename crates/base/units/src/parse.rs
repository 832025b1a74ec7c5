//! One grammar for every quantity: a decimal number, optional space, a unit.

use std::fmt;

/// A unit and how many base units it holds.
pub(crate) struct Scale {
    pub(crate) unit: &'static str,
    pub(crate) factor: f64,
}

/// Why a text is no quantity; the message names what would be accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseUnitError {
    text: String,
    example: &'static str,
    units: Vec<&'static str>,
}

impl fmt::Display for ParseUnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is not a number with a unit; write it like {:?} (units: {})",
            self.text,
            self.example,
            self.units.join(", ")
        )
    }
}

impl std::error::Error for ParseUnitError {}

/// Parses `text` into base units; only finite, non-negative numbers are quantities.
pub(crate) fn parse_scaled(
    text: &str,
    example: &'static str,
    scales: &'static [Scale],
) -> Result<f64, ParseUnitError> {
    let error = || ParseUnitError {
        text: text.to_owned(),
        example,
        units: scales.iter().map(|s| s.unit).collect(),
    };
    let trimmed = text.trim();
    let split = trimmed
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .ok_or_else(error)?;
    let (number, unit) = trimmed.split_at(split);
    let unit = unit.trim();
    let number: f64 = number.parse().map_err(|_| error())?;
    let scale = scales.iter().find(|s| s.unit == unit).ok_or_else(error)?;
    let value = number * scale.factor;
    // i64 holds every base unit used here; beyond it a quantity is a typing error.
    if value.is_finite() && value < 9.2e18 {
        Ok(value)
    } else {
        Err(error())
    }
}
