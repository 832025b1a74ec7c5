//! Columns with names, units and meaning, and the rows that analyses write into them.
//!
//! A [`Table`] says what the columns are; [`Rows`] holds values for them, column by column. Names
//! carry their unit as a suffix (`rtt_ms`, `rate_bps`, `start_ns`). Each row has an [`Order`], so
//! rows from any number of shards merge into one sequence that does not depend on how many there
//! were.

#![warn(clippy::disallowed_methods)]

mod bytes;
mod column_view;
mod row;
mod rows;
mod schema;
mod values;

pub use column_view::ColumnView;
#[doc(hidden)]
pub use row::plain_name;
pub use row::{Cell, Columns, Names, Row, SideColumns};
pub use rows::{ColumnData, Order, RowWriter, Rows};
pub use schema::{Column, ColumnType, Table};
#[doc(hidden)]
pub use unbloat_units::Direction;
pub use values::{Texts, Values};

/// Version of the set of tables; raised when a column changes its meaning or goes.
pub const SCHEMA_VERSION: u32 = 1;
