//! `unbloat analyze`.

use crate::error::{self, CaptureError, OptionError, UnbloatError};
use crate::work::interruptible;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::atomic::Ordering;
use unbloat_analyze::Control;
use unbloat_api::analyze::{
    AnalyzeError, Options, analyze, parse_count, parse_learnt_rate, parse_network,
};
use unbloat_api::folder::NewRun;
use unbloat_html::verdict_text;
use unbloat_summary::Verdict;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(analyze_into, module)?)?;
    module.add_function(wrap_pyfunction!(verdict_as_text, module)?)
}

/// Analyses captures into the run folder `out`. `options` are those of the command, by name, as text.
#[pyfunction]
#[pyo3(name = "analyze")]
fn analyze_into(
    py: Python<'_>,
    inputs: Vec<String>,
    out: PathBuf,
    publish: bool,
    command: Vec<String>,
    options: BTreeMap<String, Vec<String>>,
) -> PyResult<()> {
    let options = parsed(options)?;
    let run = NewRun {
        out: Some(out),
        command,
        is_published: publish,
    };
    let done = interruptible(py, |stop| {
        analyze(
            &inputs,
            &options,
            run,
            &mut |_| match stop.load(Ordering::Relaxed) {
                true => Control::Stop,
                false => Control::Continue,
            },
        )
        .map(drop)
    })?;
    done.map_err(|error| match &error {
        AnalyzeError::Capture(_) => CaptureError::new_err(error::text(&error)),
        AnalyzeError::Run(_) | AnalyzeError::Folder(_) => error::of_run(&error),
        AnalyzeError::Write(_) | AnalyzeError::Random(_) => {
            UnbloatError::new_err(error::text(&error))
        }
    })
}

/// The options of the command's names. An option that takes one value has one.
pub(crate) fn parsed(given: BTreeMap<String, Vec<String>>) -> PyResult<Options> {
    let mut options = Options::default();
    let params = &mut options.params;
    for (name, values) in given {
        let name = name.as_str();
        match name {
            "client_net" => options.client_nets = each(name, &values, parse_network)?,
            "gtp_port" => options.parser.gtp_ports = each(name, &values, port)?,
            "pep_port" => params.pep_ports = each(name, &values, port)?,
            "threads" => options.threads = usize::from(only(name, &values, threads)?),
            "bloat_threshold" => params.bloat_threshold = only(name, &values, plain)?,
            "min_sending_rate" => params.c = only(name, &values, parse_learnt_rate)?,
            "min_tick_interval" => params.delta_g = only(name, &values, plain)?,
            "promotion_idle" => params.promotion_silence = only(name, &values, plain)?,
            "radio_tail" => params.tail = only(name, &values, plain)?,
            "slow_start_ratio" => params.rss_threshold = only(name, &values, plain)?,
            "large_bytes" => params.large_bytes = only(name, &values, plain)?,
            "large_duration" => params.large_duration = only(name, &values, plain)?,
            "utilisation_window" => params.utilisation_window = only(name, &values, plain)?,
            "flow_idle" => params.flow_idle = only(name, &values, plain)?,
            "user_idle" => params.user_idle = only(name, &values, plain)?,
            "bin" => params.bin = only(name, &values, plain)?,
            "tables" => params.all_series = only(name, &values, all_series)?,
            "max_flows" => params.max_flows = only(name, &values, parse_count)?,
            _ => return Err(OptionError::new_err(format!("no option {name}"))),
        }
    }
    Ok(options)
}

fn plain<T: FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

/// As the command: `usual` or `all`.
fn all_series(text: &str) -> Result<bool, String> {
    match text {
        "usual" => Ok(false),
        "all" => Ok(true),
        _ => Err("expected usual or all".to_owned()),
    }
}

/// As the command: 0 to 65535.
fn port(text: &str) -> Result<u16, String> {
    let number: i64 = plain(text)?;
    u16::try_from(number).map_err(|_| format!("{number} is not in 0..=65535"))
}

/// As the command: 1 to 256.
fn threads(text: &str) -> Result<u16, String> {
    let count: i64 = plain(text)?;
    let in_range = u16::try_from(count)
        .ok()
        .filter(|count| (1..=256).contains(count));
    in_range.ok_or_else(|| format!("{count} is not in 1..=256"))
}

fn each<T>(
    name: &str,
    values: &[String],
    parse: impl Fn(&str) -> Result<T, String>,
) -> PyResult<Vec<T>> {
    let parsed = values.iter().map(|value| {
        let parsed = parse(value);
        parsed.map_err(|why| error::invalid(name, value, &why))
    });
    parsed.collect()
}

fn only<T>(
    name: &str,
    values: &[String],
    parse: impl Fn(&str) -> Result<T, String>,
) -> PyResult<T> {
    let mut parsed = each(name, values, parse)?;
    match (parsed.pop(), parsed.is_empty()) {
        (Some(value), true) => Ok(value),
        _ => Err(OptionError::new_err(format!("{name} takes one value"))),
    }
}

/// The verdict of run.json as the command prints it, `width` columns wide.
#[pyfunction]
#[pyo3(name = "verdict_text")]
fn verdict_as_text(verdict: &str, width: usize) -> PyResult<String> {
    let verdict: Verdict = serde_json::from_str(verdict).map_err(|error| error::of_run(&error))?;
    Ok(verdict_text(&verdict, width))
}
