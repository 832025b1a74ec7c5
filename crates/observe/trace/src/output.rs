//! What a shard writes: `flows` and the tables beside it.

use crate::analysis::{self, flows};
use crate::reached::Reached;
use crate::tables::{SideTables, side_tables};
use unbloat_table::{Column, Order, Rows, Table};

/// All tables, `flows` first: the fixed order in which outputs list them.
pub fn all_tables() -> Vec<Table> {
    let flows = Table {
        name: flows::NAME,
        doc: "One row per flow, in the order in which flows ended",
        columns: analysis::columns(),
    };
    std::iter::once(flows).chain(side_tables()).collect()
}

/// Rows that one shard wrote and nobody took yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    pub flows: Rows,
    pub side: SideTables,
}

impl Default for Output {
    fn default() -> Output {
        Output {
            flows: Rows::new(&all_tables()[0]),
            side: SideTables::new(),
        }
    }
}

impl Output {
    /// Rows of each table, in the order of [`all_tables`].
    pub fn tables(&self) -> Vec<&Rows> {
        std::iter::once(&self.flows)
            .chain(self.side.all())
            .collect()
    }

    fn tables_mut(&mut self) -> Vec<&mut Rows> {
        std::iter::once(&mut self.flows)
            .chain(self.side.all_mut())
            .collect()
    }

    /// Forgets what is written into columns that `is_read` is false of.
    pub fn keep_only(&mut self, is_read: impl Fn(&Table, &Column) -> bool) {
        for (table, rows) in all_tables().iter().zip(self.tables_mut()) {
            rows.keep_only(table, |column| is_read(table, column));
        }
    }

    pub fn is_empty(&self) -> bool {
        self.tables().into_iter().all(Rows::is_empty)
    }

    /// Appends the rows of all tables as bytes, for [`Output::read`].
    pub fn write(&self, to: &mut Vec<u8>) {
        let tables = self.tables();
        let is_written = tables.iter().map(|rows| u8::from(!rows.is_empty()));
        to.extend(is_written);
        let written = tables.into_iter().filter(|rows| !rows.is_empty());
        written.for_each(|rows| rows.write(to));
    }

    /// Puts those that these bytes tell of in place of the rows. `None` if they are not what [`Output::write`] made.
    pub fn read(&mut self, bytes: &[u8]) -> Option<()> {
        self.clear();
        let mut tables = self.tables_mut();
        let (is_written, mut rest) = bytes.split_at_checked(tables.len())?;
        for (rows, _) in tables
            .iter_mut()
            .zip(is_written)
            .filter(|(_, is)| **is == 1)
        {
            rest = rows.read(rest)?;
        }
        rest.is_empty().then_some(())
    }

    /// Forgets the rows, keeps the memory.
    pub fn clear(&mut self) {
        self.tables_mut().into_iter().for_each(Rows::clear);
    }

    /// Appends what several shards wrote about the same batch, in an order that does not depend on
    /// how many shards there are.
    pub fn append_merged(&mut self, parts: &[&Output]) {
        let all: Vec<_> = parts.iter().map(|&part| (part, None)).collect();
        self.append_merged_until(&all, None);
    }

    /// As [`Output::append_merged`], up to where one of the shards has stopped; with each part stands
    /// how far its rows were taken before.
    pub fn append_merged_until(
        &mut self,
        parts: &[(&Output, Option<Reached>)],
        until: Option<Reached>,
    ) {
        let sources: Vec<Vec<&Rows>> = parts.iter().map(|(part, _)| part.tables()).collect();
        let names = std::iter::once(flows::NAME).chain(SideTables::NAMES.iter().copied());
        for (i, (name, rows)) in names.zip(self.tables_mut()).enumerate() {
            let taken = parts.iter().map(|&(_, taken)| bound(name, taken));
            let sources = sources.iter().map(|tables| tables[i]);
            let sources = sources.zip(taken.map(Option::unwrap_or_default));
            rows.append_merged_until(sources, bound(name, until));
        }
    }
}

/// Where the rows of a table stand that are written beyond `reached`.
fn bound(table: &str, reached: Option<Reached>) -> Option<Order> {
    reached.map(|reached| match table {
        "users" | "concurrency" => reached.in_users(),
        "dns" => reached.in_lookups(),
        _ => reached.in_flows(),
    })
}
