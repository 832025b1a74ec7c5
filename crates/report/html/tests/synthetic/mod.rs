//! A made-up run with the tables of `unbloat analyze`: any number of flows, some of them bloated,
//! with the names that a hostile server would send.

use std::path::{Path, PathBuf};
use unbloat_run::{Input, RunInfo, RunReader, RunWriter, TraceStart};
use unbloat_summary::{
    FigureRow, Outcome, Summary, SummaryParams, SummaryRow, figures_rows, summary_rows,
};
use unbloat_table::{Column, ColumnType, Order, Row, Rows, Table};
use unbloat_units::Time;

/// What breaks pages that paste text into HTML or into a script.
pub const HOSTILE: &str = "</script><script>document.title='broken'</script>\"'><img src=x>";

/// Columns by the first letter of their type; side columns are written with `{s}`.
const FLOWS: &str = "u:flow_id u:user_id t:client u:client_port t:server u:server_port t:server_name t:protocol \
    i:start_ns i:end_ns f:duration_ms t:end_cause b:syn_only u:packets_up u:packets_down u:payload_up_bytes \
    u:payload_down_bytes f:rate_up_bps f:rate_down_bps f:last_payload_gap_ms f:max_gap_ms b:large_down \
    f:close_delay_ms b:delayed_close f:close_energy_mj t:handshake f:handshake_up_ms f:handshake_down_ms \
    b:pep u:retransmitted_{s}_packets f:retransmission_rate_{s} u:reordered_{s}_packets \
    u:upstream_loss_{s}_packets u:ambiguous_{s}_packets u:dup_acks_{s} f:dup_ack_ratio_{s} u:rtt_{s}_samples \
    f:rtt_{s}_min_ms f:rtt_{s}_p50_ms f:added_{s}_p50_ms f:added_{s}_p95_ms f:added_{s}_p99_ms \
    f:in_flight_{s}_p50_bytes f:utilisation_{s} f:tick_{s}_ms b:window_scale_{s}_known \
    u:window_{s}_initial_bytes f:full_window_{s}_share f:full_window_{s}_first_pct u:slow_starts_{s} \
    u:rtos_{s} u:avoidable_rtos_{s} t:pattern_{s} t:limit_{s}";
const OTHERS: [(&str, &str); 10] = [
    (
        "rtt",
        "u:flow_id t:side i:time_ns f:rtt_ms f:rtt_min_ms f:rtt_max_ms f:in_flight_bytes",
    ),
    (
        "in_flight",
        "u:flow_id t:side i:time_ns u:seq_bytes u:ack_bytes u:window_edge_bytes u:in_flight_bytes u:payload_bytes",
    ),
    (
        "bandwidth",
        "u:flow_id t:side i:time_ns f:bandwidth_bps f:sending_bps f:resolution",
    ),
    (
        "events",
        "u:flow_id t:side i:time_ns t:kind u:seq_bytes f:value",
    ),
    (
        "users",
        "u:user_id t:client u:flows u:promotions f:active_s f:tail_s f:idle_s f:energy_j f:avoidable_energy_j f:added_down_p50_ms f:added_down_p95_ms f:added_down_p99_ms u:added_down_samples",
    ),
    (
        "standing",
        "u:flow_id t:client u:client_port t:server u:server_port t:direction f:rtt_floor_ms b:floor_seen u:samples u:sharp_samples u:windows u:low_windows u:standing_windows i:standing_start_ns i:standing_end_ns f:standing_p50_ms f:standing_p95_ms f:back_share f:ahead_standing_bps f:ahead_own_standing_bps f:ahead_steadiness f:ahead_peak_bps u:ahead_busy_windows",
    ),
    ("promotions", "f:promotion_ms"),
    ("concurrency", "u:user_id u:concurrent_flows u:seconds"),
    ("dns", "f:latency_ms"),
    (
        "protocols",
        "t:protocol t:application u:flows u:packets u:wire_bytes",
    ),
];

pub fn table(name: &'static str, columns: &str) -> Table {
    let sides = |text: &str| match text.contains("{s}") {
        true => ["down", "up"].map(|s| text.replace("{s}", s)).to_vec(),
        false => vec![text.to_owned()],
    };
    let column = |text: String| {
        let (kind, rest) = text.split_once(':').expect("type:name");
        // Column names live as long as the program; a test may leak a few.
        let name_of_column: &'static str = rest.to_owned().leak();
        match kind {
            "u" => Column::of::<u64>(name_of_column, "a <count>"),
            "i" => Column::of::<i64>(name_of_column, "a time"),
            "f" => Column::of::<f64>(name_of_column, "a measured value"),
            "b" => Column::of::<bool>(name_of_column, "yes or no"),
            _ => Column::of::<&str>(name_of_column, "a text"),
        }
    };
    let columns = columns.split_whitespace().flat_map(sides).map(column);
    Table {
        name,
        doc: "made up",
        columns: columns.collect(),
    }
}

#[derive(Clone)]
pub enum Value {
    N(f64),
    B(bool),
    T(String),
}

pub fn push(table: &Table, rows: &mut Rows, values: &[(&str, Value)]) {
    let order = Order {
        written_at: rows.len() as u64,
        subject: 0,
    };
    rows.row(order, |row| {
        for column in &table.columns {
            let value = values.iter().find(|(name, _)| *name == column.name);
            match (column.kind, value.map(|(_, v)| v)) {
                (ColumnType::U64, Some(Value::N(x))) => row.cell(*x as u64),
                (ColumnType::U64, _) => row.cell(None::<u64>),
                (ColumnType::I64, Some(Value::N(x))) => row.cell(*x as i64),
                (ColumnType::I64, _) => row.cell(None::<i64>),
                (ColumnType::F64, Some(Value::N(x))) => row.cell(*x),
                (ColumnType::F64, _) => row.cell(None::<f64>),
                (ColumnType::Bool, Some(Value::B(x))) => row.cell(*x),
                (ColumnType::Bool, _) => row.cell(None::<bool>),
                (ColumnType::Text, Some(Value::T(x))) => row.cell(x.as_str()),
                (ColumnType::Text, _) => row.cell(None::<&str>),
            }
        }
    });
}

/// A counter hashed: the same numbers every time.
struct Dice(u64);

impl Dice {
    /// Uniform in [0, 1).
    fn roll(&mut self) -> f64 {
        self.0 += 1;
        let x = self.0.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        ((x ^ (x >> 27)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Log-normal with this median, spread over about `decades`.
    fn around(&mut self, median: f64, decades: f64) -> f64 {
        let bell = (0..6).map(|_| self.roll()).sum::<f64>() / 3.0 - 1.0;
        median * 10f64.powf(bell * decades)
    }
}

/// All rows go through the summary and into the run.
struct Sink {
    tables: Vec<Table>,
    summary: Summary,
    writer: RunWriter,
    rows: Vec<Rows>,
}

impl Sink {
    fn put(&mut self, name: &str, values: &[(&str, Value)]) {
        let at = self
            .tables
            .iter()
            .position(|t| t.name == name)
            .expect("a table");
        push(&self.tables[at], &mut self.rows[at], values);
        if self.rows[at].len() >= 4096 {
            self.flush(at);
        }
    }

    fn flush(&mut self, at: usize) {
        self.summary.add(self.tables[at].name, &self.rows[at]);
        self.writer
            .append(at, &self.rows[at])
            .expect("a temporary folder can be written");
        self.rows[at].clear();
    }
}

/// Writes a run of `flows` flows below `dir`; gives its folder and what the summary found.
pub fn write_run(dir: &Path, flows: u64) -> (PathBuf, Outcome) {
    let mut tables = vec![table("flows", FLOWS)];
    tables.extend(OTHERS.map(|(name, columns)| table(name, columns)));
    let summary = Summary::new(&tables, SummaryParams::default());
    let mut all = tables.clone();
    all.extend([SummaryRow::table(), FigureRow::table()]);
    let mut info = RunInfo::new(
        "unbloat",
        "0.1.0",
        vec!["unbloat".into(), "analyze".into(), HOSTILE.into()],
    );
    info.inputs = vec![Input {
        name: format!("{HOSTILE}.pcap"),
        size_bytes: Some(1),
    }];
    info.trace_start = Some(TraceStart(Time::from_ns(1_350_028_800_123_456_789)));
    info.packets = flows * 79;
    info.options.insert("bin".to_owned(), "10 ms".into());
    info.kernel = Some("6.12.0".to_owned());
    let writer = RunWriter::create(&dir.join("run"), &info, &all).expect("a fresh folder");
    let rows = tables.iter().map(Rows::new).collect();
    let mut sink = Sink {
        tables,
        summary,
        writer,
        rows,
    };
    let mut dice = Dice(0);
    (1..=flows).for_each(|id| flow(&mut sink, &mut dice, id));
    (0..flows.div_ceil(20)).for_each(|id| user(&mut sink, &mut dice, id));
    (0..sink.tables.len()).for_each(|at| sink.flush(at));
    let outcome = sink.summary.finish();
    let own = sink.tables.len();
    let written = [
        summary_rows(&outcome.metrics).1,
        figures_rows(&outcome.figures).1,
    ];
    for (i, last) in written.iter().enumerate() {
        sink.writer
            .append(own + i, last)
            .expect("a temporary folder can be written");
    }
    info.verdict = serde_json::to_value(&outcome.verdict).expect("plain data");
    let path = sink
        .writer
        .finish(&info)
        .expect("a temporary folder can be written");
    (path, outcome)
}

pub fn open(path: &Path) -> RunReader {
    RunReader::open(path).expect("the run just written")
}

/// A delay that stood for most of the flow.
fn standing(
    flow: &[(&'static str, Value)],
    added_ms: f64,
    secs: f64,
) -> Vec<(&'static str, Value)> {
    use Value::{B, N, T};
    let of_flow = ["flow_id", "client", "client_port", "server", "server_port"];
    let is_of_flow = |(name, _): &&(&'static str, Value)| of_flow.contains(name);
    let mut values: Vec<(&'static str, Value)> = flow.iter().filter(is_of_flow).cloned().collect();
    let windows = (secs * 4.0).floor();
    values.extend([
        ("direction", T("down".into())),
        ("rtt_floor_ms", N(58.0)),
        ("floor_seen", B(true)),
        ("samples", N(secs * 40.0)),
        ("sharp_samples", N(secs * 40.0)),
        ("windows", N(windows)),
        ("standing_windows", N(windows)),
        ("standing_start_ns", N(0.0)),
        ("standing_end_ns", N(secs * 1e9)),
        ("standing_p50_ms", N(added_ms)),
        ("standing_p95_ms", N(added_ms * 1.3)),
        ("back_share", N(0.0)),
        ("ahead_standing_bps", N(9e6)),
        ("ahead_own_standing_bps", N(9e6)),
        ("ahead_steadiness", N(0.9)),
        ("ahead_peak_bps", N(1e7)),
        ("ahead_busy_windows", N(windows)),
    ]);
    values
}

fn flow(sink: &mut Sink, dice: &mut Dice, id: u64) {
    use Value::{B, N, T};
    let bulk = id % 37 == 5;
    let secs = if bulk {
        dice.around(25.0, 0.3)
    } else {
        dice.around(5.0, 1.5)
    };
    let down = if bulk {
        secs * dice.around(1.2e6, 0.2)
    } else {
        (dice.around(4000.0, 2.0) - 200.0).max(0.0)
    };
    let up = dice.around(900.0, 0.9);
    let start = dice.roll() * 600e9;
    let client = format!("10.0.{}.{}", id / 20 / 250, 2 + id / 20 % 250);
    let added = if bulk {
        dice.around(350.0, 0.4)
    } else {
        dice.around(18.0, 1.0)
    };
    let samples = if bulk {
        secs * 40.0
    } else {
        dice.around(12.0, 1.0).floor()
    };
    let floor = dice.around(28.0, 0.3);
    let dup_acks = dice.around(17.0, 1.2).floor();
    let name = match id % 50 {
        5 => Some(HOSTILE.to_owned()),
        n if n < 30 => Some(format!("host{n}.example")),
        _ => None,
    };
    let mut values = vec![
        ("flow_id", N(id as f64)),
        ("user_id", N((id / 20) as f64)),
        ("client", T(client)),
        ("client_port", N(40_000.0)),
        ("server", T(format!("192.0.2.{}", id % 250))),
        (
            "server_port",
            N([80.0, 443.0, 8080.0, 443.0][(id % 4) as usize]),
        ),
        ("protocol", T("tcp".into())),
        ("start_ns", N(start)),
        ("end_ns", N(start + secs * 1e9)),
        ("duration_ms", N(secs * 1e3)),
        (
            "end_cause",
            T(["fin", "fin", "fin", "fin", "fin", "fin", "rst", "idle"][(id % 8) as usize].into()),
        ),
        ("syn_only", B(id.is_multiple_of(12))),
        ("packets_up", N((up + down) / 2000.0 + 4.0)),
        ("packets_down", N(down / 1400.0 + 4.0)),
        ("payload_up_bytes", N(up)),
        ("payload_down_bytes", N(down)),
        ("rate_up_bps", N(up * 8.0 / secs)),
        ("rate_down_bps", N(down * 8.0 / secs)),
        ("last_payload_gap_ms", N(dice.around(2000.0, 1.5))),
        ("max_gap_ms", N(if bulk { 300.0 } else { secs * 500.0 })),
        ("large_down", B(bulk)),
        ("close_delay_ms", N(15_000.0)),
        ("delayed_close", B(id % 4 == 1)),
        ("close_energy_mj", N(12_000.0)),
        ("handshake", T("complete".into())),
        ("handshake_up_ms", N(dice.around(30.0, 0.8))),
        ("handshake_down_ms", N(floor)),
        ("pep", B(id.is_multiple_of(2))),
        ("rtt_down_samples", N(samples)),
        ("rtt_down_min_ms", N(floor)),
        ("rtt_down_p50_ms", N(floor + added / 2.0)),
        ("added_down_p50_ms", N(added / 2.0)),
        ("added_down_p95_ms", N(added)),
        ("added_down_p99_ms", N(added * 1.3)),
        (
            "in_flight_down_p50_bytes",
            N(if bulk { 500_000.0 } else { 4_000.0 }),
        ),
        (
            "retransmission_rate_down",
            N(if id.is_multiple_of(3) {
                0.0
            } else {
                dice.around(0.002, 0.8)
            }),
        ),
        ("retransmitted_down_packets", N((id % 3) as f64)),
        ("reordered_down_packets", N(0.0)),
        ("dup_acks_down", N(dup_acks)),
        ("dup_ack_ratio_down", N(dup_acks / 2.0)),
        ("utilisation_down", N(dice.around(0.35, 0.6))),
        ("tick_down_ms", N([1.0, 10.0, 4.0][(id % 3) as usize])),
        ("window_scale_down_known", B(true)),
        ("window_down_initial_bytes", N(131_712.0)),
        (
            "full_window_down_share",
            N(if id.is_multiple_of(2) { 0.1 } else { 0.0 }),
        ),
        ("full_window_down_first_pct", N(dice.around(4.0, 0.6))),
        (
            "pattern_down",
            T(if id.is_multiple_of(3) { "flat" } else { "fat" }.into()),
        ),
        (
            "limit_down",
            T(["path", "receive_window", "application"][(id % 3) as usize].into()),
        ),
    ];
    values.extend(name.map(|n| ("server_name", T(n))));
    if id.is_multiple_of(9) {
        sink.put(
            "promotions",
            &[("promotion_ms", N(dice.around(435.0, 0.3)))],
        );
    }
    if bulk {
        sink.put("standing", &standing(&values, added, secs));
    }
    sink.put("flows", &values);
    sink.put("dns", &[("latency_ms", N(dice.around(3.0, 0.9)))]);
    let share = [
        ("protocol", T("tcp".into())),
        ("application", T("https".into())),
    ];
    let amount = [
        ("flows", N(1.0)),
        ("packets", N(79.0)),
        ("wire_bytes", N(up + down)),
    ];
    sink.put("protocols", &[share.as_slice(), amount.as_slice()].concat());
    let life = Life {
        id,
        start,
        secs,
        floor,
        added,
    };
    if bulk && id < 20_000 {
        bulk_series(sink, dice, &life);
    }
}

struct Life {
    id: u64,
    start: f64,
    secs: f64,
    floor: f64,
    added: f64,
}

/// A sender that fills the queue, loses a packet, halves and begins again.
fn bulk_series(sink: &mut Sink, dice: &mut Dice, life: &Life) {
    use Value::{N, T};
    let (mut sent, mut acked, mut fill) = (0.0, 0.0, 0.1);
    let bins = (life.secs * 100.0) as u64;
    for bin in 0..bins {
        let rate_bps = 1e7 * (1.0 + 0.4 * (bin as f64 / 200.0).sin()) * (0.9 + 0.2 * dice.roll());
        fill += 0.002;
        let moment = [
            ("flow_id", N(life.id as f64)),
            ("side", T("down".into())),
            ("time_ns", N(life.start + bin as f64 * 10e6)),
        ];
        if fill > 1.2 {
            fill = 0.5;
            for kind in ["retransmission", "dup_ack_train", HOSTILE] {
                let event = [
                    ("kind", T(kind.into())),
                    ("seq_bytes", N(acked)),
                    ("value", N(1.0)),
                ];
                sink.put("events", &[moment.as_slice(), event.as_slice()].concat());
            }
        }
        acked += rate_bps / 8.0 * 0.01;
        let rtt = life.floor + life.added * fill;
        let in_flight = rate_bps / 8.0 * rtt / 1e3;
        sent = f64::max(sent, acked + in_flight);
        let rtts = [
            ("rtt_ms", N(rtt)),
            ("rtt_min_ms", N(rtt * 0.93)),
            ("rtt_max_ms", N(rtt * 1.1)),
            ("in_flight_bytes", N(in_flight)),
        ];
        sink.put("rtt", &[moment.as_slice(), rtts.as_slice()].concat());
        let bytes = [
            ("seq_bytes", N(sent)),
            ("ack_bytes", N(acked)),
            ("window_edge_bytes", N(acked + 1_500_000.0)),
            ("in_flight_bytes", N(sent - acked)),
            ("payload_bytes", N(rate_bps / 800.0)),
        ];
        sink.put("in_flight", &[moment.as_slice(), bytes.as_slice()].concat());
        if bin.is_multiple_of(25) {
            let rates = [
                ("bandwidth_bps", N(rate_bps)),
                ("sending_bps", N(rate_bps * 3.0)),
                ("resolution", N(0.02)),
            ];
            sink.put("bandwidth", &[moment.as_slice(), rates.as_slice()].concat());
        }
    }
}

fn user(sink: &mut Sink, dice: &mut Dice, id: u64) {
    use Value::{N, T};
    let p95 = dice.around(70.0, 0.6);
    let client = format!("10.0.{}.{}", id / 250, 2 + id % 250);
    sink.put(
        "users",
        &[
            ("user_id", N(id as f64)),
            ("client", T(client)),
            ("flows", N(20.0)),
            ("promotions", N(8.0)),
            ("active_s", N(40.0)),
            ("tail_s", N(80.0)),
            ("idle_s", N(480.0)),
            ("energy_j", N(150.0)),
            ("avoidable_energy_j", N(30.0)),
            ("added_down_p50_ms", N(p95 / 3.0)),
            ("added_down_p95_ms", N(p95)),
            ("added_down_p99_ms", N(p95 * 1.5)),
            ("added_down_samples", N(500.0)),
        ],
    );
    for (flows, seconds) in [(1.0, 72.0), (2.0, 17.0), (3.0, 7.0), (6.0, 4.0)] {
        sink.put(
            "concurrency",
            &[
                ("user_id", N(id as f64)),
                ("concurrent_flows", N(flows)),
                ("seconds", N(seconds)),
            ],
        );
    }
}
