use thiserror::Error;
use unbloat_units::ParseUnitError;

/// Why a run cannot be compared.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum CompareError {
    #[error(
        "table {table} has no column {column}: the run was made by another version or was changed; repeat it with this version"
    )]
    NoColumn {
        table: &'static str,
        column: &'static str,
    },
    #[error(
        "table {table}, column {column} contains {found}, expected {wanted}; the file was changed after the run"
    )]
    ColumnType {
        table: &'static str,
        column: &'static str,
        wanted: &'static str,
        found: &'static str,
    },
}

/// Why a text is no tolerance.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ToleranceError {
    #[error(
        "{0:?} is not a result and an amount; write it like \"goodput 5 %\", \"down.queue_delay_p95 10 % or 3 ms\" or \"mos >= -0.2\""
    )]
    Shape(String),
    #[error(
        "{amount:?} is not an amount ({why}); write it like \"5 %\", \"3 ms\", \"1 Mbit/s\", \"10 kB\" or \"0.2\""
    )]
    Amount { amount: String, why: ParseUnitError },
    #[error("{0:?} has no finite value")]
    Infinite(String),
}
