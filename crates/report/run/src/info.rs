//! What made a run and how it ended: the contents of run.json.

use crate::StoredTable;
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use unbloat_health::Health;
use unbloat_table::SCHEMA_VERSION;
use unbloat_units::Time;

/// What made a run, from what, and how it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunInfo {
    pub program: String,
    pub version: String,
    /// Version of the set of tables, see [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The command line, one argument each.
    pub command: Vec<String>,
    /// The seed of everything random; null when nothing was.
    pub seed: Option<u64>,
    /// Release of the kernel that it ran on.
    pub kernel: Option<String>,
    pub clock: Clock,
    pub status: Status,
    pub inputs: Vec<Input>,
    /// Every option with the value that was in force, defaults included.
    pub options: BTreeMap<String, Value>,
    /// Absolute time of the first packet, to which all `*_ns` columns are relative; null when
    /// there was none.
    pub trace_start: Option<TraceStart>,
    pub packets: u64,
    /// Packets that gave no header, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// What is wrong with the input: cut files, corrupt blocks, backward clocks.
    pub damage: Vec<String>,
    /// Packets that the kernel dropped before we saw them (live capture).
    pub lost_packets: u64,
    /// What is wrong with the capture; null where there was none.
    #[serde(default)]
    pub health: Option<Health>,
    /// Flows closed early because of the memory limit.
    pub evicted_flows: u64,
    /// What the program concluded: `kind` in a word and `headline` in a sentence (of captures `sentence`), with what they rest on; null
    /// when it concludes nothing.
    #[serde(default)]
    pub verdict: Value,
    /// A sentence for each thing that the summary and the verdict lack.
    #[serde(default)]
    pub left_out: Vec<String>,
}

/// Whose time the tables tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// The capture's own time stamps.
    Capture,
    /// A simulator's time.
    Virtual,
    /// The time of this machine while it measured.
    Real,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// All input was read.
    Complete,
    /// Stopped before the end of the input; the tables hold what was known then.
    Interrupted,
    /// The input was cut or corrupt; the tables hold what came before the damage.
    Damaged,
}

/// Something that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Input {
    /// Path, `-` for standard input, or the interface of a live capture.
    pub name: String,
    /// Size of the file; null when it is none.
    pub size_bytes: Option<u64>,
}

/// A capture's first time stamp. In run.json both as RFC 3339 text in UTC (for people) and as
/// nanoseconds since 1970 (for programs, and the one that is read back).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "WrittenStart", into = "WrittenStart")]
pub struct TraceStart(pub Time);

#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TraceStart")]
struct WrittenStart {
    utc: String,
    ns: i64,
}

impl From<TraceStart> for WrittenStart {
    fn from(start: TraceStart) -> WrittenStart {
        WrittenStart {
            utc: start.rfc3339(),
            ns: start.0.as_ns(),
        }
    }
}

impl From<WrittenStart> for TraceStart {
    fn from(written: WrittenStart) -> TraceStart {
        TraceStart(Time::from_ns(written.ns))
    }
}

impl TraceStart {
    /// RFC 3339, in UTC, with nanoseconds: `2012-10-12T08:00:00.000000001Z`.
    pub fn rfc3339(self) -> String {
        let since_1970 = SignedDuration::from_nanos(self.0.as_ns());
        format!("{:.9}", Timestamp::UNIX_EPOCH + since_1970)
    }
}

impl RunInfo {
    /// A run of `program` that has read nothing yet, on the capture's clock, on this kernel. Tokens in `command` are hidden: runs are
    /// shared.
    pub fn new(program: &str, version: &str, command: Vec<String>) -> RunInfo {
        RunInfo {
            program: program.to_owned(),
            version: version.to_owned(),
            schema_version: SCHEMA_VERSION,
            command: unbloat_untrusted::command_line(command),
            seed: None,
            kernel: kernel_release(),
            clock: Clock::Capture,
            status: Status::Complete,
            inputs: Vec::new(),
            options: BTreeMap::new(),
            trace_start: None,
            packets: 0,
            skipped: BTreeMap::new(),
            damage: Vec::new(),
            lost_packets: 0,
            health: None,
            evicted_flows: 0,
            verdict: Value::Null,
            left_out: Vec::new(),
        }
    }

    /// Sets a verdict that is a kind and a sentence.
    pub fn conclude(&mut self, kind: &str, headline: &str) {
        self.verdict = json!({ "kind": kind, "headline": headline });
    }

    /// What it found, in a sentence.
    pub fn headline(&self) -> Option<&str> {
        let keys = ["headline", "sentence"];
        keys.iter().find_map(|key| self.verdict.get(key)?.as_str())
    }
}

/// The release of the running kernel (`uname -r`), if it tells.
#[expect(clippy::disallowed_methods, reason = "the kernel's own file")]
pub fn kernel_release() -> Option<String> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    Some(release.trim().to_owned())
}

/// All of run.json: what made a run, how it ended, and its tables.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct RunFile {
    #[serde(flatten)]
    pub(crate) info: RunInfo,
    pub(crate) tables: Vec<StoredTable>,
}

/// The part of run.json that no version may change.
#[derive(Deserialize)]
pub(crate) struct RunVersion {
    pub(crate) schema_version: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_no_token_of_its_command() {
        let words = ["campaign", "--token", "SECRET", "c.toml", "--token=SECRET"];
        let info = RunInfo::new("unbloat", "0.1.0", words.map(str::to_owned).to_vec());
        assert_eq!(info.command[3], "c.toml");
        assert!(!info.command.iter().any(|word| word.contains("SECRET")));
    }

    #[test]
    fn run_json_comes_back_as_written() {
        let mut info = RunInfo::new(
            "unbloat",
            "0.1.0",
            vec!["analyze".into(), "ü \"x\".pcap".into()],
        );
        info.seed = Some(u64::MAX);
        info.trace_start = Some(TraceStart(Time::from_ns(1_350_028_800_000_000_001)));
        info.options.insert("delta_g".into(), 3.0.into());
        info.skipped.insert("not_ip".into(), 7);
        info.status = Status::Interrupted;
        let file = RunFile {
            info,
            tables: Vec::new(),
        };
        let text = serde_json::to_string(&file).expect("plain data");
        let back: RunFile = serde_json::from_str(&text).expect("our own text");
        assert_eq!(back.info, file.info);
    }

    #[test]
    fn the_start_is_written_for_people_and_for_programs() {
        let start = TraceStart(Time::from_ns(1_350_028_800_000_000_001));
        let json = serde_json::to_value(start).expect("plain data");
        assert_eq!(json["utc"], "2012-10-12T08:00:00.000000001Z");
        assert_eq!(json["ns"], 1_350_028_800_000_000_001_i64);
    }

    #[test]
    fn the_ends_of_time_have_a_text() {
        assert_eq!(
            TraceStart(Time::MIN).rfc3339(),
            "1677-09-21T00:12:43.145224192Z"
        );
        assert_eq!(
            TraceStart(Time::MAX).rfc3339(),
            "2262-04-11T23:47:16.854775807Z"
        );
    }
}
