//! Writes tables to standard output, and to run folders with a report.

use crate::exit::Failure;
use crate::print::{Out, PrintError, note, out};
use crate::terminal;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use unbloat_api::folder::{REPORT, publish, run_dir, write_tables};
use unbloat_run::RunInfo;
use unbloat_run::format::{Bounds, FormatKind, TextWriter};
use unbloat_table::{Rows, Table};

/// Default of `--rows`.
pub const ROWS: usize = 40;

/// Parses `--format`.
pub fn format_parser() -> impl TypedValueParser<Value = FormatKind> {
    let names = FormatKind::ALL.iter().map(|kind| kind.name());
    PossibleValuesParser::new(names)
        .map(|name| FormatKind::from_name(&name).expect("a possible value"))
}

/// Where a command writes its run.
#[derive(clap::Args, Clone, Debug)]
pub struct RunArgs {
    /// Folder for the results (must not exist) [default: an unused name among the runs of this user; none with --format]
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,

    /// Do not write a folder with the results
    #[arg(long, conflicts_with = "out")]
    pub no_run: bool,
}

impl RunArgs {
    pub fn is_wanted(&self, print: &FormatArgs) -> bool {
        !self.no_run && (print.format.is_none() || self.out.is_some())
    }
}

/// How a command prints a table.
#[derive(clap::Args, Clone, Debug)]
pub struct FormatArgs {
    /// Print a table instead of text
    #[arg(long, value_name = "FORMAT", value_parser = format_parser())]
    pub format: Option<FormatKind>,

    /// Maximum number of rows that --format table prints
    #[arg(long, value_name = "N", default_value_t = ROWS, requires = "format")]
    rows: usize,
}

impl FormatArgs {
    /// None: text is printed.
    pub fn of<'a>(&self, table: &'a str) -> Option<Wanted<'a>> {
        let rows = self.rows;
        self.format.map(|kind| Wanted { table, kind, rows })
    }
}

/// The table that `--format` prints, and its format.
pub struct Wanted<'a> {
    pub table: &'a str,
    pub kind: FormatKind,
    /// Maximum rows of an aligned table.
    pub rows: usize,
}

impl Wanted<'_> {
    /// The index of the table in `tables`, and a writer that has begun it.
    pub fn begin<'t>(
        &self,
        tables: impl Iterator<Item = &'t Table> + Clone,
    ) -> Result<(usize, TextWriter<BufWriter<Out>>), Failure> {
        let mut numbered = tables.clone().enumerate();
        let found = numbered.find(|(_, table)| table.name == self.table);
        let (index, table) = found.ok_or_else(|| {
            let known: Vec<&str> = tables.map(|table| table.name).collect();
            format!(
                "unknown table {:?}; use one of {}",
                self.table,
                known.join(", ")
            )
        })?;
        let bounds = Bounds {
            width: terminal::width(),
            rows: self.rows,
        };
        let mut writer = TextWriter::new(BufWriter::new(out()), self.kind, bounds);
        writer.begin(table).map_err(PrintError::from)?;
        Ok((index, writer))
    }

    /// Prints it from complete tables.
    pub fn print(&self, all: &[(Table, Rows)]) -> Result<(), Failure> {
        let (index, mut writer) = self.begin(all.iter().map(|(table, _)| table))?;
        let rows = &all[index].1;
        let printed = writer.append(rows.columns(), rows.len());
        printed
            .and_then(|()| writer.finish())
            .map_err(PrintError::from)?;
        Ok(())
    }
}

/// Writes complete tables as a run with its report to `out`, or to an unused folder among the runs of the user whose
/// name contains `stem`. Prints and returns the folder.
pub fn write_run(
    out: Option<&Path>,
    stem: &str,
    info: &RunInfo,
    all: &[(Table, Rows)],
) -> Result<PathBuf, Failure> {
    let dir = write_tables(&run_dir(out, stem)?, info, all)?;
    publish(&dir)?;
    tell(&dir);
    Ok(dir)
}

/// Prints the paths of report and tables.
pub fn tell(dir: &Path) {
    note!("report  {}", dir.join(REPORT).display());
    note!("tables  {}", dir.display());
}
