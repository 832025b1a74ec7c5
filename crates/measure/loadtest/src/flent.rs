//! A file that flent opens, summarises and plots: gzip of JSON, data format 4.
//!
//! flent knows only tests that it ships, and their series by name. Ours goes as `rrul_be`: all load connections of a direction together
//! are `TCP download BE` and `TCP upload BE`, datagrams are `Ping (ms) UDP BE1`; what rrul_be has besides is left out. Times between
//! stages have no values. What of ours has no place there stands in the metadata.

use crate::findings::Curves;
use crate::measured::{Echo, Fate, Measured};
use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use std::io::Write;
use unbloat_units::{Delta, Direction, Time};

/// As flent's own.
const STEP: Delta = Delta::ms(200);
const PING: &str = "Ping (ms) UDP BE1";
const LOADS: [(Direction, &str, &str); 2] = [
    (Direction::Down, "TCP download BE", "TCP download sum"),
    (Direction::Up, "TCP upload BE", "TCP upload sum"),
];

/// The file's bytes.
pub fn flent(measured: &Measured) -> Vec<u8> {
    let document = document(measured).to_string();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(document.as_bytes())
        .expect("a vector takes everything");
    gzip.finish().expect("a vector takes everything")
}

fn document(measured: &Measured) -> Value {
    let end = measured
        .stages
        .last()
        .map_or(Time::from_ns(0), |stage| stage.end);
    let steps = end.as_ns().max(0) / STEP.as_ns() + 1;
    let bins: Vec<Time> = (0..steps)
        .map(|step| Time::from_ns(0) + STEP * step)
        .collect();
    let mut results = Map::new();
    let mut raw = Map::new();
    for (direction, name, sum) in LOADS {
        let rates: Vec<Option<f64>> = bins
            .iter()
            .map(|bin| rate(measured, direction, *bin))
            .collect();
        if rates.iter().any(Option::is_some) {
            raw.insert(name.to_owned(), raw_rates(measured, &bins, &rates));
            results.insert(name.to_owned(), json!(rates));
            results.insert(sum.to_owned(), json!(rates));
        }
    }
    if !measured.echoes.is_empty() {
        let pings: Vec<Option<f64>> = bins.iter().map(|bin| ping(measured, *bin)).collect();
        results.insert(PING.to_owned(), json!(pings));
        results.insert("Ping (ms) avg".to_owned(), json!(pings));
        raw.insert(
            PING.to_owned(),
            measured
                .echoes
                .iter()
                .map(|echo| raw_ping(measured, echo))
                .collect(),
        );
    }
    json!({
        "version": 4,
        "x_values": bins.iter().map(|bin| bin.since(Time::from_ns(0)).as_secs()).collect::<Vec<_>>(),
        "metadata": metadata(measured, end, &results),
        "results": results,
        "raw_values": raw,
    })
}

fn metadata(measured: &Measured, end: Time, results: &Map<String, Value>) -> Value {
    let begun = date(measured.begun_ns);
    let seconds = end.since(Time::from_ns(0)).as_secs();
    let target = measured.options.target.to_string();
    let series = results.keys().map(|name| {
        let units = if name.starts_with("Ping") {
            "ms"
        } else {
            "Mbits/s"
        };
        (name.clone(), json!({"UNITS": units}))
    });
    let stages = measured.stages.iter().map(|stage| {
        json!({
            "load": stage.load.name(),
            "stack": stage.stack.name(),
            "begin_s": stage.begin.since(Time::from_ns(0)).as_secs(),
            "end_s": stage.end.since(Time::from_ns(0)).as_secs(),
        })
    });
    json!({
        "NAME": "rrul_be",
        "TITLE": "unbloat test",
        "TIME": begun,
        "T0": begun,
        "HOST": target,
        "HOSTS": [target],
        "LOCAL_HOST": "client",
        "LENGTH": seconds.round(),
        "TOTAL_LENGTH": seconds.round(),
        "STEP_SIZE": STEP.as_secs(),
        "IP_VERSION": if measured.server.address.is_some_and(|address| address.is_ipv6()) { 6 } else { 4 },
        "FLENT_VERSION": "2.1.1",
        "TEST_PARAMETERS": {},
        "SERIES_META": series.collect::<Map<_, _>>(),
        "NOTE": format!("unbloat {}", env!("CARGO_PKG_VERSION")),
        "UNBLOAT_STAGES": stages.collect::<Vec<_>>(),
    })
}

/// flent wants a fraction of six digits.
fn date(ns: i64) -> String {
    let moment = Timestamp::from_nanosecond(i128::from(ns)).unwrap_or_default();
    moment.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// Mbit/s, while the direction was loaded.
fn rate(measured: &Measured, direction: Direction, bin: Time) -> Option<f64> {
    let stage = measured.stage_at(bin)?;
    if !measured.stages[stage].load.has(direction) {
        return None;
    }
    let curves = Curves::in_order(measured, stage, direction)?;
    let rate = curves.bytes(bin, bin + STEP).over(STEP)?;
    Some(rate.as_bps_f64() / 1e6)
}

fn raw_rates(measured: &Measured, bins: &[Time], rates: &[Option<f64>]) -> Value {
    let known = bins
        .iter()
        .zip(rates)
        .filter_map(|(bin, rate)| Some((bin, (*rate)?)));
    known.map(|(bin, rate)| json!({"t": epoch(measured, *bin + STEP), "dur": STEP.as_secs(), "val": rate})).collect()
}

/// Mean of the datagrams that were sent in this bin.
fn ping(measured: &Measured, bin: Time) -> Option<f64> {
    let from = measured.echoes.partition_point(|echo| echo.sent < bin);
    let sent = measured.echoes[from..]
        .iter()
        .take_while(|echo| echo.sent < bin + STEP);
    let rtts: Vec<f64> = sent.filter_map(|echo| Some(echo.rtt?.as_ms())).collect();
    (!rtts.is_empty()).then(|| rtts.iter().sum::<f64>() / rtts.len() as f64)
}

/// One-way delays of half the idle round trip and what was added.
fn raw_ping(measured: &Measured, echo: &Echo) -> Value {
    let way = match echo.fate {
        Fate::LostUp => Some("up"),
        Fate::LostDown => Some("down"),
        _ => None,
    };
    let Some(rtt) = echo.rtt else {
        return json!({"lost": true, "lost_dir": way, "seq": echo.seq, "t": epoch(measured, echo.sent)});
    };
    let half = measured.clocks.map(|clocks| clocks.idle_rtt / 2);
    let one_way = |added: Option<Delta>| Some((half? + added?).as_ms());
    json!({
        "t": epoch(measured, echo.sent + rtt),
        "val": rtt.as_ms(),
        "owd_up": one_way(echo.added_up),
        "owd_down": one_way(echo.added_down),
        "seq": echo.seq,
    })
}

fn epoch(measured: &Measured, at: Time) -> f64 {
    (measured.begun_ns as f64 + at.as_ns() as f64) / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_have_the_six_digits_that_flent_reads() {
        assert_eq!(
            date(1_767_323_045_000_000_000),
            "2026-01-02T03:04:05.000000Z"
        );
    }

    #[test]
    fn every_series_is_as_long_as_its_axis() {
        let measured = crate::findings::sample();
        let document = document(&measured);
        let axis = document["x_values"].as_array().unwrap().len();
        let results = document["results"].as_object().unwrap();
        assert!(results.contains_key(PING) && results.contains_key("TCP download sum"));
        for (name, values) in results {
            assert_eq!(values.as_array().unwrap().len(), axis, "{name}");
            assert!(document["metadata"]["SERIES_META"][name]["UNITS"].is_string());
        }
        // Before and between stages nothing was carried.
        assert!(results["TCP download BE"][0].is_null());
        assert_eq!(results[PING][0], 20.0);
    }
}
