//! The same numbers with the keys of Apple's networkQuality (`-c`), for what reads those.
//!
//! `responsiveness` is draft-09's, of the stage with both directions if there is one, else the worse one. Times are in ms, as lists of what was
//! measured. Keys whose meaning does not exist here are left out;
//! `unbloat_grade` and `unbloat_verdict` are ours.

use crate::findings::Findings;
use crate::measured::{Measured, Probe, ProbeKind};
use crate::plan::Load;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use unbloat_units::{Delta, Direction, Time};

/// The document.
pub fn apple_json(measured: &Measured, findings: &Findings) -> Value {
    let mut keys = Map::new();
    let mut put = |key: &str, value: Value| {
        if !value.is_null() {
            keys.insert(key.to_owned(), value);
        }
    };
    let idle = findings
        .idle
        .rtt
        .map(|[p50, ..]| p50)
        .or(findings.idle.view.foreign);
    put("base_rtt", json!(idle.map(Delta::as_ms)));
    for (direction, name) in [(Direction::Down, "dl"), (Direction::Up, "ul")] {
        let found = findings.of(direction);
        let rate = found.and_then(|found| found.goodput[direction]);
        put(
            &format!("{name}_throughput"),
            json!(rate.map(|rate| rate.as_bps())),
        );
        put(
            &format!("{name}_flows"),
            json!(found.map(|found| found.flows)),
        );
        let flows = measured
            .flows
            .iter()
            .filter(|flow| flow.direction == direction);
        let bytes: u64 = flows.map(|flow| flow.bytes.as_u64()).sum();
        put(&format!("{name}_bytes_transferred"), json!(bytes));
    }
    put("responsiveness", json!(responsiveness(findings)));
    for (prefix, is_idle) in [("il", true), ("lud_foreign", false)] {
        let probes = || of(measured, ProbeKind::Foreign, is_idle);
        put(
            &format!("{prefix}_tcp_handshake_443"),
            list(probes().map(|probe| probe.tcp)),
        );
        put(
            &format!("{prefix}_tls_handshake"),
            list(probes().map(|probe| probe.tls)),
        );
        put(
            &format!("{prefix}_h2_req_resp"),
            list(probes().map(|probe| probe.answer)),
        );
    }
    let own = of(measured, ProbeKind::SelfHttp, false);
    put("lud_self_h2_req_resp", list(own.map(|probe| probe.answer)));
    put("unbloat_grade", json!(findings.verdict.grade));
    put("unbloat_verdict", json!(findings.verdict.headline));
    put("test_endpoint", json!(measured.options.target.to_string()));
    let end = measured
        .stages
        .last()
        .map_or(Time::from_ns(0), |stage| stage.end);
    put("start_date", json!(date(measured.begun_ns)));
    put(
        "end_date",
        json!(date(measured.begun_ns.saturating_add(end.as_ns()))),
    );
    Value::Object(keys)
}

fn responsiveness(findings: &Findings) -> Option<f64> {
    let both = findings.loads.iter().find(|found| found.load == Load::Both);
    let alone = |direction| findings.of(direction)?.rpm;
    let worse = || {
        Direction::BOTH
            .into_iter()
            .filter_map(alone)
            .map(|rpm| rpm.as_f64())
            .reduce(f64::min)
    };
    let of_both = both.and_then(|found| found.rpm).map(|rpm| rpm.as_f64());
    of_both.or_else(worse).map(f64::round)
}

fn of(measured: &Measured, kind: ProbeKind, is_idle: bool) -> impl Iterator<Item = &Probe> {
    measured.probes.iter().filter(move |probe| {
        let stage = measured
            .stage_at(probe.sent)
            .map(|stage| measured.stages[stage].load);
        probe.kind == kind && stage.is_some_and(|load| (load == Load::Idle) == is_idle)
    })
}

fn list(spans: impl Iterator<Item = Option<Delta>>) -> Value {
    let known: Vec<f64> = spans.flatten().map(Delta::as_ms).collect();
    match known.is_empty() {
        true => Value::Null,
        false => json!(known),
    }
}

fn date(ns: i64) -> String {
    let moment = Timestamp::from_nanosecond(i128::from(ns)).unwrap_or_default();
    moment.strftime("%Y-%m-%d %H:%M:%S.%3f").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::findings;
    use unbloat_responsiveness::Rule;

    #[test]
    fn the_keys_hold_what_was_measured_and_nothing_else() {
        let measured = crate::findings::sample();
        let json = apple_json(&measured, &findings(&measured, Rule::DslReports));
        assert_eq!(json["base_rtt"], 20.0);
        assert_eq!(json["dl_throughput"], 48_000_000);
        assert_eq!(json["dl_flows"], 1);
        assert_eq!(json["responsiveness"], 242.0);
        assert_eq!(json["il_tcp_handshake_443"][0], 20.0);
        assert_eq!(json["lud_self_h2_req_resp"][0], 400.0);
        assert!(json.get("ul_throughput").is_none());
        // 160 ms added by the download.
        assert_eq!(json["unbloat_grade"], "C");
        let verdict = json["unbloat_verdict"].as_str().unwrap();
        assert!(
            verdict.contains("grade C. Downloads add 160 ms"),
            "{verdict}"
        );
    }
}
