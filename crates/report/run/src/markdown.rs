//! The schema of tables as a page for people.

use crate::schema::type_name;
use crate::unit_of;
use std::fmt::Write;
use unbloat_table::{Column, SCHEMA_VERSION, Table};

/// The tables and their columns as Markdown.
pub fn schema_markdown(tables: &[Table]) -> String {
    let mut page = format!(
        "# Tables of a run\n\n\
         Schema version {SCHEMA_VERSION}. A run is a folder with `run.json` and one Parquet file per table, \
         `<table>.parquet`. Any value may be null, which means \"unknown\". The end of a column's name tells \
         its unit.\n"
    );
    for table in tables {
        let _ = write!(page, "\n## {}\n\n{}\n\n", table.name, cell(table.doc));
        page.push_str("| column | type | unit | meaning |\n|---|---|---|---|\n");
        table.columns.iter().for_each(|c| line(&mut page, c));
    }
    page
}

fn line(page: &mut String, column: &Column) {
    let unit = unit_of(column.name).unwrap_or_default();
    let (name, kind, doc) = (column.name, type_name(column.kind), cell(column.doc));
    // Writing to a String cannot fail.
    let _ = writeln!(page, "| `{name}` | {kind} | {unit} | {doc} |");
}

/// Text that stays within its cell.
fn cell(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_column_is_one_line_of_its_table() {
        let table = Table {
            name: "rtt",
            doc: "one row per\n sample",
            columns: vec![
                Column::of::<f64>("rtt_ms", "round trip; a|b"),
                Column::of::<&str>("side", "down or up"),
            ],
        };
        let page = schema_markdown(&[table]);
        let (_, body) = page.split_once("\n## ").expect("a section");
        let expected = "rtt\n\none row per sample\n\n\
            | column | type | unit | meaning |\n|---|---|---|---|\n\
            | `rtt_ms` | f64 | ms | round trip; a\\|b |\n\
            | `side` | text |  | down or up |\n";
        assert_eq!(body, expected);
    }
}
