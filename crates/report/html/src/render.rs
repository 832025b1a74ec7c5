//! A run to one HTML file.

use crate::campaign::campaign;
use crate::chosen::{Chosen, choose};
use crate::data::{PageData, metrics};
use crate::flows::flow_rows;
use crate::location::location;
use crate::options::RenderOptions;
use crate::outcome::outcome;
use crate::series::flow_series;
use crate::{ReportError, html, page, tested};
use std::io::{self, Write};
use unbloat_run::RunReader;
use unbloat_summary::Verdict;

const SCRIPT: &str = concat!(
    include_str!("../assets/common.js"),
    include_str!("../assets/report.js")
);

/// The rest of the file has a fixed number of rows.
const LARGEST_DATA: usize = 9_000_000;

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// Flows with a time line.
    pub flows: u64,
    /// Flows in the run.
    pub flows_total: u64,
    pub bytes: u64,
}

/// Writes the report of a run. Tables that the run does not have are left out of it.
pub fn render(
    run: &RunReader,
    out: &mut dyn Write,
    options: &RenderOptions,
) -> Result<Rendered, ReportError> {
    let verdict = verdict_of(run)?;
    let mut chosen = match options.only_flow {
        None => choose(run, verdict.as_ref(), options.flows)?,
        Some(id) => Chosen {
            ids: [id].into(),
            of: run.table("flows").map_or(0, |t| t.rows),
        },
    };
    let rows = flow_rows(run, &chosen.ids)?;
    if let Some(id) = options.only_flow.filter(|id| !rows.contains_key(id)) {
        return Err(ReportError::NoFlow(id));
    }
    chosen.ids.retain(|id| rows.contains_key(id));
    let series = flow_series(run, &rows, RenderOptions::POINTS)?;
    let embedded = rows.len() as u64;
    let stages = tested::stages(run)?;
    let mut data = PageData::new(run, verdict.as_ref(), &stages, &chosen, rows, series)?;
    let mut out = Counted { out, bytes: 0 };
    let tested = tested::verdict_of(run.info())?;
    let campaign = campaign(run, run.info())?;
    let parts = page::Parts {
        info: run.info(),
        verdict: verdict.as_ref(),
        tested: tested.as_ref(),
        stages: &stages,
        metrics: &metrics(run)?,
        outcome: &outcome(run, &campaign)?,
        campaign: &campaign,
        location: &location(run)?,
        has_flows: run.table("flows").is_ok(),
        embedded,
        flows_total: chosen.of,
        options,
    };
    write_page(&mut out, &parts, &mut data)?;
    Ok(Rendered {
        flows: embedded,
        flows_total: chosen.of,
        bytes: out.bytes,
    })
}

fn verdict_of(run: &RunReader) -> Result<Option<Verdict>, ReportError> {
    Verdict::of_run(&run.info().verdict).map_err(ReportError::Verdict)
}

fn write_page(out: &mut dyn Write, parts: &page::Parts, data: &mut PageData) -> io::Result<()> {
    let json = data.script_json(LARGEST_DATA)?;
    html::write_document(out, &page::title(parts), page::body(parts), &json, SCRIPT)
}

/// Counts what passes.
struct Counted<'a> {
    out: &'a mut dyn Write,
    bytes: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
