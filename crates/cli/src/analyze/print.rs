//! The table that goes to standard output.

use crate::exit::Failure;
use crate::output::Wanted;
use crate::print::Out;
use std::io::{self, BufWriter};
use unbloat_api::analyze::{RowSink, tables};
use unbloat_run::format::TextWriter;
use unbloat_table::Rows;

pub struct Print {
    table: usize,
    writer: TextWriter<BufWriter<Out>>,
}

impl Print {
    pub fn open(wanted: &Wanted<'_>) -> Result<Print, Failure> {
        let (table, writer) = wanted.begin(tables().iter())?;
        Ok(Print { table, writer })
    }
}

impl RowSink for Print {
    fn take(&mut self, table: usize, rows: &Rows) -> io::Result<()> {
        match table == self.table {
            true => self.writer.append(rows.columns(), rows.len()),
            false => Ok(()),
        }
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.writer.finish().map(drop)
    }
}
