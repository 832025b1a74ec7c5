//! The summary against the tables that the trace engine writes.

use unbloat_summary::{Summary, SummaryParams};

#[test]
fn every_panel_finds_its_columns_in_the_tables_of_the_engine() {
    let outcome = Summary::new(&unbloat_trace::all_tables(), SummaryParams::default()).finish();
    assert_eq!(outcome.left_out, Vec::<String>::new());
}
