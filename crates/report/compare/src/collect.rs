//! From the tables of a run to what can be compared of it.

use crate::CompareError;
use crate::conditions::Facts;
use crate::course::Course;
use crate::estimate::{Estimate, is_number};
use crate::run::{Name, Run};
use crate::sources;
use std::collections::{BTreeMap, BTreeSet};
use unbloat_table::{ColumnData, Values};

/// Tables that are read, in this order, with the columns that are needed of each. Those of flows and users may lack some.
pub const TABLES: &[(&str, &[&str])] = &[
    ("points", &sources::POINTS),
    ("results", &sources::RESULTS),
    ("model", &sources::MODEL),
    ("queue_series", &sources::QUEUE),
    ("window_series", &sources::WINDOW),
    ("stages", &sources::STAGES),
    ("echoes", &sources::ECHOES),
    ("goodput_series", &sources::GOODPUT),
    ("monitor_delays", &sources::MONITOR),
    ("flows", sources::FLOWS),
    ("users", &sources::USERS),
    ("rtt", &sources::RTT),
    ("bandwidth", &sources::BANDWIDTH),
    ("dns", &sources::DNS),
    ("http", &sources::HTTP),
    ("summary", &sources::SUMMARY),
];

/// Rows of results, names of anything else, and characters of a name, beyond which a run is cut.
const MOST_RESULTS: usize = 10_000_000;
const MOST_NAMES: usize = 2_000;
const LONGEST_NAME: usize = 200;

/// Takes in a run, table by table in the order of [`TABLES`], each in pieces of any size.
pub struct Collector {
    pub(crate) run: Run,
    /// Before this, series are drawn and not counted.
    pub(crate) warm_ns: i64,
    pub(crate) totals: sources::Totals,
    rows: usize,
    cut: BTreeSet<&'static str>,
    no_numbers: BTreeMap<&'static str, u64>,
}

impl Collector {
    /// `warm_ns`: how much of the beginning of a series the run's results leave out.
    pub fn new(facts: Facts, warm_ns: i64) -> Collector {
        Collector {
            run: Run {
                facts,
                points: BTreeMap::new(),
                results: BTreeMap::new(),
                values: BTreeMap::new(),
                spreads: BTreeMap::new(),
                courses: BTreeMap::new(),
                whole: BTreeMap::new(),
                stages: Vec::new(),
                tables: BTreeSet::new(),
                left_out: Vec::new(),
            },
            warm_ns,
            totals: sources::Totals::default(),
            rows: 0,
            cut: BTreeSet::new(),
            no_numbers: BTreeMap::new(),
        }
    }

    /// Takes in rows of a table; those of other tables are passed over.
    pub fn add(
        &mut self,
        table: &str,
        names: &[String],
        columns: &[ColumnData],
        rows: usize,
    ) -> Result<(), CompareError> {
        let Some((known, _)) = TABLES.iter().find(|(name, _)| *name == table) else {
            return Ok(());
        };
        let piece = Piece {
            table: known,
            names,
            columns,
            rows,
        };
        match *known {
            "points" => sources::points(self, &piece),
            "results" => sources::results(self, &piece),
            "model" => sources::model(self, &piece),
            "queue_series" => sources::queue(self, &piece),
            "window_series" => sources::window(self, &piece),
            "stages" => sources::stages(self, &piece),
            "echoes" => sources::echoes(self, &piece),
            "goodput_series" => sources::goodput(self, &piece),
            "monitor_delays" => sources::monitor(self, &piece),
            "flows" => sources::flows(self, &piece),
            "users" => sources::users(self, &piece),
            "rtt" => sources::rtt(self, &piece),
            "bandwidth" => sources::bandwidth(self, &piece),
            "dns" => sources::look_ups(self, &piece),
            "http" => sources::requests(self, &piece),
            _ => sources::summary(self, &piece),
        }
    }

    /// Says that the run has a table, compared or not.
    pub fn has_table(&mut self, name: &str) {
        self.run.tables.insert(short(name));
    }

    pub fn finish(mut self) -> Run {
        sources::finish(&mut self);
        for results in self.run.results.values_mut() {
            for values in results.values_mut() {
                values.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            }
        }
        let cut = self.cut.iter().map(|table| {
            format!("Table {table} is too large to compare completely: its end was skipped.")
        });
        let no_numbers = self.no_numbers.iter().map(|(table, count)| {
            format!(
                "Table {table} contains {count} values that are not finite numbers; they were skipped."
            )
        });
        self.run.left_out.extend(cut.chain(no_numbers));
        self.run
    }

    /// One more value of a result, if it is a number and there is room.
    pub(crate) fn result(
        &mut self,
        table: &'static str,
        point: u64,
        name: Name,
        seed: u64,
        value: f64,
    ) {
        if !self.is_fit(table, value) {
            return;
        }
        if self.rows >= MOST_RESULTS {
            self.cut.insert(table);
            return;
        }
        self.rows += 1;
        let of_point = self.run.results.entry(point).or_default();
        of_point.entry(name).or_default().push((seed, value));
    }

    pub(crate) fn spread(&mut self, table: &'static str, name: Name, value: f64) {
        if !self.is_fit(table, value) {
            return;
        }
        let spreads = &mut self.run.spreads;
        if spreads.len() >= MOST_NAMES && !spreads.contains_key(&name) {
            self.cut.insert(table);
            return;
        }
        let spread = spreads.entry(name).or_default();
        spread.record(value);
    }

    pub(crate) fn course(
        &mut self,
        table: &'static str,
        name: Name,
        at_ns: i64,
        value: f64,
        times: u64,
    ) {
        if !self.is_fit(table, value) {
            return;
        }
        let courses = &mut self.run.courses;
        if courses.len() >= MOST_NAMES && !courses.contains_key(&name) {
            self.cut.insert(table);
            return;
        }
        let course = courses.entry(name).or_insert_with(Course::new);
        course.push(at_ns, value, times, self.warm_ns);
    }

    pub(crate) fn value(&mut self, table: &'static str, name: Name, estimate: Estimate) {
        if !self.is_fit(table, estimate.value) {
            return;
        }
        if self.run.values.len() >= MOST_NAMES {
            self.cut.insert(table);
            return;
        }
        self.run.values.insert(name, estimate);
    }

    fn is_fit(&mut self, table: &'static str, value: f64) -> bool {
        let is_fit = is_number(value);
        if !is_fit {
            *self.no_numbers.entry(table).or_default() += 1;
        }
        is_fit
    }
}

/// Names come from outside: they are cut.
pub(crate) fn short(name: &str) -> String {
    name.chars().take(LONGEST_NAME).collect()
}

/// Rows of one table.
pub(crate) struct Piece<'a> {
    pub(crate) table: &'static str,
    names: &'a [String],
    columns: &'a [ColumnData],
    rows: usize,
}

impl<'a> Piece<'a> {
    pub(crate) fn rows(&self) -> std::ops::Range<usize> {
        0..self.rows
    }

    pub(crate) fn text(&self, column: &'static str) -> Result<&'a ColumnData, CompareError> {
        match self.find(column) {
            Some(found @ ColumnData::Text(_)) => Ok(found),
            other => Err(self.fault(column, "text", other)),
        }
    }

    pub(crate) fn number(&self, column: &'static str) -> Result<&'a ColumnData, CompareError> {
        match self.find(column) {
            Some(found) if !matches!(found, ColumnData::Text(_)) => Ok(found),
            other => Err(self.fault(column, "a number", other)),
        }
    }

    pub(crate) fn whole(&self, column: &'static str) -> Result<&'a Values<u64>, CompareError> {
        match self.find(column) {
            Some(ColumnData::U64(found)) => Ok(found),
            other => Err(self.fault(column, "a whole number", other)),
        }
    }

    pub(crate) fn time(&self, column: &'static str) -> Result<&'a Values<i64>, CompareError> {
        match self.find(column) {
            Some(ColumnData::I64(found)) => Ok(found),
            other => Err(self.fault(column, "a time", other)),
        }
    }

    /// A column of numbers that older runs may lack.
    pub(crate) fn maybe(
        &self,
        column: &'static str,
    ) -> Result<Option<&'a ColumnData>, CompareError> {
        self.find(column).map(|_| self.number(column)).transpose()
    }

    fn find(&self, column: &str) -> Option<&'a ColumnData> {
        let at = self.names.iter().position(|name| name == column)?;
        self.columns.get(at)
    }

    fn fault(
        &self,
        column: &'static str,
        wanted: &'static str,
        found: Option<&ColumnData>,
    ) -> CompareError {
        let table = self.table;
        let Some(found) = found else {
            return CompareError::NoColumn { table, column };
        };
        CompareError::ColumnType {
            table,
            column,
            wanted,
            found: match found {
                ColumnData::U64(_) | ColumnData::I64(_) => "whole numbers",
                ColumnData::F64(_) => "numbers",
                ColumnData::Bool(_) => "yes and no",
                ColumnData::Text(_) => "text",
            },
        }
    }
}
