//! Scenarios that somebody has damaged, as far as they can still be built: they run to an end, conserve what they carry, and take no more
//! memory or time than their packets need.

use fastrand::Rng;
use std::path::Path;
use unbloat_experiment::outcome::is_conserved;
use unbloat_experiment::scenario::toml::Node;
use unbloat_experiment::scenario::{Experiment, Sweep, build, score};
use unbloat_sim::run_while;
use unbloat_units::Delta;

const CASES: u64 = 1_500;

/// What a run may do: a second of virtual time, or so many tasks.
const TASKS: u64 = 1 << 15;

/// The example scenarios of this repository.
fn examples() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios");
    let entries = std::fs::read_dir(folder).expect("scenarios");
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    files.sort();
    let texts = files.iter().map(std::fs::read_to_string);
    texts.collect::<Result<_, _>>().expect("text")
}

/// What may stand in place of a number.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "7",
    "40",
    "255",
    "1000",
    "65535",
    "1000000",
    "999999999",
    "0.001",
    "0.5",
    "1.5",
];

/// What may stand in place of a name in quotes.
fn names() -> Vec<&'static str> {
    let others = [
        "up", "down", "lte", "classic", "accurate", "none", "atm", "hystart",
    ];
    [
        unbloat_qdisc::NAMES,
        unbloat_tcp::congestion::NAMES,
        unbloat_tcp::receive_window::NAMES,
        unbloat_workload::NAMES,
        &others,
    ]
    .concat()
}

/// Lines that may be added to `[link.down]`, `[link.up]` or a flow.
const LINES: &[&str] = &[
    "radio = \"lte\"",
    "jitter = \"5 ms\"",
    "reorders = true",
    "loss = 0.3",
    "loss = { kind = \"burst\", to_bad = 0.5, to_good = 0.01 }",
    "outages = { every = \"10 ms\", shortest = \"1 us\", longest = \"1 s\", loss = 0.5 }",
    "hold = { share = 0.5, delay = \"1 s\" }",
    "device = { ring_packets = 1, buffer = \"1 B\" }",
    "framing = { overhead_bytes = 65535, cells = \"atm\" }",
    "burst = \"1500 B\"",
    "markov = [{ rate = \"0 bit/s\", stay = \"100 us\" }, { rate = \"1 Gbit/s\", stay = \"100 us\" }]",
    "steps = [{ span = \"1 us\", rate = \"1 bit/s\" }, { span = \"1 us\", rate = \"1 Gbit/s\" }]",
    "trace = \"chances\"",
    "mss_bytes = 64",
    "mss_bytes = 65000",
    "notsent_lowat = \"1 B\"",
    "send_buffer = \"1 B\"",
    "initial_window = 1000000",
    "rto_min = \"1 us\"",
    "timestamps = false",
    "pacing = true",
    "compressed_acks = 1",
    "read_at_least_bytes = 1000000",
    "receive_window = { kind = \"static\", window = \"1 B\" }",
    "window_scale = 0",
    "stop = \"300 ms\"",
    "count = 30",
    "ecn = \"classic\"",
];

/// The line with another number or name in it, or with one more behind it.
fn changed(line: &str, rng: &mut Rng) -> String {
    match rng.u8(0..3) {
        0 => {
            let digits = line.find(|c: char| c.is_ascii_digit());
            let Some(from) = digits.filter(|_| line.contains('=')) else {
                return line.to_owned();
            };
            let rest = line[from..].trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
            let number = NUMBERS[rng.usize(0..NUMBERS.len())];
            format!("{}{number}{rest}", &line[..from])
        }
        1 => match line.split('"').collect::<Vec<_>>()[..] {
            [before, _, after] => {
                let names = names();
                format!("{before}\"{}\"{after}", names[rng.usize(0..names.len())])
            }
            _ => line.to_owned(),
        },
        _ => format!("{line}\n{}", LINES[rng.usize(0..LINES.len())]),
    }
}

/// One change: a number, a name, or a line more.
fn mutate(text: &str, rng: &mut Rng) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let at = rng.usize(0..lines.len());
    let all = lines.iter().enumerate().map(|(index, line)| {
        let line = if index == at {
            changed(line, rng)
        } else {
            (*line).to_owned()
        };
        line + "\n"
    });
    all.collect()
}

/// As `unbloat sim` does it, with any point of the sweep; none if it is refused.
fn built(text: &str, rng: &mut Rng) -> Option<Experiment> {
    let mut scenario = Node::parse(text).ok()?;
    score::take(&mut scenario).ok()?;
    let sweep = Sweep::take(&mut scenario).ok()?;
    let point = sweep
        .point(rng.usize(0..sweep.points()))
        .apply(&scenario)
        .ok()?;
    build(&point, &|_| Ok(b"1\n2\n5\n".to_vec())).ok()
}

#[test]
fn what_can_be_built_of_damaged_scenarios_runs_and_conserves() {
    let examples = examples();
    let (mut runs, mut ended) = (0, 0);
    for seed in 0..CASES {
        let mut rng = Rng::with_seed(seed);
        let mut text = examples[rng.usize(0..examples.len())].clone();
        for _ in 0..rng.u8(1..=3) {
            text = mutate(&text, &mut rng);
        }
        let Some(mut experiment) = built(&text, &mut rng) else {
            continue;
        };
        experiment.duration = experiment.duration.min(Delta::secs(1));
        experiment.warmup = Delta::ZERO;
        runs += 1;
        if let Some(outcomes) = run_while(&experiment, &mut |tasks| tasks < TASKS) {
            ended += 1;
            assert!(is_conserved(&outcomes), "{seed}: {text}");
            for result in unbloat_experiment::outcome::results(&outcomes) {
                assert!(result.value.is_finite(), "{seed}: {result:?}\n{text}");
            }
        }
    }
    assert!(
        runs > CASES / 4 && ended > runs / 2,
        "{runs} of {CASES} run, {ended} to their end"
    );
}
