//! Do unbloat, tcptrace and tshark count the same, and if not, why not.

mod compare;
mod flow;
mod ours;
mod quantity;
mod recount;
mod render;
mod tcptrace;
mod tshark;

use crate::captures;
use crate::error::{BenchError, at};
use crate::process;
use flow::Flows;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What to compare on.
pub struct AgreementParams {
    /// The bench's folder of generated captures.
    pub data: PathBuf,
    pub base: PathBuf,
    /// Beds of `unbloat-validate`: folders with a `monitor.pcap`.
    pub beds: PathBuf,
    /// The program that makes beds.
    pub validate: PathBuf,
    /// Where the comparison is written.
    pub document: PathBuf,
    /// The hand-written explanations that follow the numbers.
    pub explanations: PathBuf,
}

/// Beds made when there are none: losses and reordering on both sides, timeouts, a mix.
const SCENARIOS: [(&str, u32); 4] = [("bulk", 30), ("lossy", 40), ("rto", 90), ("mix", 60)];

/// What the three tools say of one capture.
pub struct Compared {
    pub name: String,
    pub ours: Flows,
    pub tcptrace: Flows,
    pub tshark: Flows,
    pub recounts: recount::Recounts,
}

pub fn compare_all(params: &AgreementParams) -> Result<(), BenchError> {
    let base = params.data.join("base.pcap");
    captures::cut(&params.base, &base, u32::MAX)?;
    let mut compared = vec![compare("base", &base, &params.data)?];
    for (name, capture) in beds(params)? {
        compared.push(compare(&name, &capture, &params.data)?);
    }
    let explanations =
        std::fs::read_to_string(&params.explanations).map_err(at(&params.explanations))?;
    let text = render::markdown(&compared, &explanations);
    std::fs::write(&params.document, text).map_err(at(&params.document))?;
    eprintln!(
        "written to {}; every flow in {}",
        params.document.display(),
        params.data.display()
    );
    Ok(())
}

fn compare(name: &str, capture: &Path, data: &Path) -> Result<Compared, BenchError> {
    let compared = Compared {
        name: name.to_owned(),
        ours: ours::read(capture)?,
        tcptrace: tcptrace::read(capture)?,
        tshark: tshark::read(capture)?,
        recounts: recount::read(capture)?,
    };
    let path = data.join(format!("agreement-{name}.csv"));
    std::fs::write(&path, render::csv(&compared)).map_err(at(&path))?;
    Ok(compared)
}

/// All beds there are, by name; made fresh if there are none.
fn beds(params: &AgreementParams) -> Result<Vec<(String, PathBuf)>, BenchError> {
    let found = list(&params.beds);
    if !found.is_empty() {
        return Ok(found);
    }
    for (scenario, seconds) in SCENARIOS {
        let mut command = Command::new(&params.validate);
        let seconds = seconds.to_string();
        command.args(["bed", scenario, "--secs", &seconds, "--no-sender", "--out"]);
        process::output(command.arg(params.beds.join(scenario)))?;
    }
    Ok(list(&params.beds))
}

fn list(beds: &Path) -> Vec<(String, PathBuf)> {
    let folders = std::fs::read_dir(beds).into_iter().flatten().flatten();
    let mut found: Vec<(String, PathBuf)> = folders
        .map(|entry| {
            (
                entry.file_name().to_string_lossy().into_owned(),
                entry.path().join("monitor.pcap"),
            )
        })
        // A bed in the making hides its folder.
        .filter(|(name, capture)| !name.starts_with('.') && capture.is_file())
        .collect();
    found.sort();
    found
}
