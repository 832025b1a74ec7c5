//! An analysis by the library: the same tables from [`analyze`] and from a store that is fed piece by piece.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use unbloat_analyze::Control;
use unbloat_api::analyze::{Keep, Options, RowSink, Store, analyze, open, run, tables};
use unbloat_api::folder::{NewRun, REPORT};
use unbloat_run::{RunReader, Status};
use unbloat_table::Rows;

fn capture() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures");
    vec![folder.join("bloated-link.pcap.zst").display().to_string()]
}

fn new_run(out: PathBuf, is_published: bool) -> NewRun {
    NewRun {
        out: Some(out),
        command: ["unbloat", "analyze"].map(str::to_owned).to_vec(),
        is_published,
    }
}

fn parquet(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let named = files.map(|file| (file.file_name().into_string().unwrap(), file.path()));
    named
        .filter(|(name, _)| name.ends_with(".parquet"))
        .map(|(name, path)| (name, fs::read(path).unwrap()))
        .collect()
}

#[test]
fn threads_and_a_store_fed_piecewise_make_the_same_tables() {
    let folder = tempfile::tempdir().unwrap();
    let places = ["whole", "pieces"].map(|name| folder.path().join(name));
    let two = Options {
        threads: 2,
        ..Options::default()
    };
    let mut batches = 0;
    let (outcome, stored) = analyze(
        &capture(),
        &two,
        new_run(places[0].clone(), true),
        &mut |_| {
            batches += 1;
            Control::Continue
        },
    )
    .unwrap();
    assert!(batches > 1 && outcome.packets > 10_000);
    assert!(places[0].join(REPORT).exists());
    let one = Options::default();
    let (mut source, inputs) = open(&capture()).unwrap();
    let keep = Keep::run(new_run(places[1].clone(), false));
    let mut store = Store::open(&one, inputs, keep).unwrap();
    let again = run(&mut *source, &one, &mut store, &mut |_| Control::Continue).unwrap();
    let pieces = store.finish(&again).unwrap();
    assert!(!places[1].join(REPORT).exists());
    assert_eq!(stored.found.verdict, pieces.found.verdict);
    let [whole, fed] = places.map(|place| parquet(&place));
    assert_eq!(whole.len(), tables().len());
    assert_eq!(whole, fed);
}

#[test]
fn a_watch_that_stops_leaves_an_interrupted_run() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("cut");
    let run = new_run(place.clone(), false);
    let (outcome, _) =
        analyze(&capture(), &Options::default(), run, &mut |_| Control::Stop).unwrap();
    assert!(outcome.interrupted);
    let info = RunReader::open(&place).unwrap().info().clone();
    assert_eq!(info.status, Status::Interrupted);
    assert_eq!(info.packets, outcome.packets);
    assert_eq!(info.options["bloat_threshold"], "60 ms");
}

/// A packet of TCP over IPv4 without its payload: `up` is the client's, `n` the flow.
fn packet(
    to: &mut Vec<u8>,
    at_us: u32,
    (n, up): (u16, bool),
    flags: u8,
    numbers: [u32; 2],
    len: u16,
) {
    let [client, server] = [[10, 0, (n >> 8) as u8, n as u8], [192, 0, 2, 1]];
    let (src, dst) = if up {
        (client, server)
    } else {
        (server, client)
    };
    let ports = if up { [40_000_u16, 443] } else { [443, 40_000] };
    let mut data = vec![0x45, 0];
    data.extend((40 + len).to_be_bytes());
    data.extend([0, 0, 0, 0, 64, 6, 0, 0]);
    data.extend(src.into_iter().chain(dst));
    data.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
    data.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
    data.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    let lens = [
        at_us / 1_000_000,
        at_us % 1_000_000,
        40,
        40 + u32::from(len),
    ];
    to.extend(lens.iter().flat_map(|word| word.to_le_bytes()));
    to.extend(data);
}

/// Short flows of one answer each, of sizes without an order, and one long flow at the end.
fn many_flows(short: u16) -> Vec<u8> {
    const SYN: u8 = 2;
    const ACK: u8 = 16;
    let head = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 101_u32];
    let mut pcap: Vec<u8> = head.iter().flat_map(|word| word.to_le_bytes()).collect();
    for n in 0..=short {
        let begin = 1_000_000 + u32::from(n) * 3_000;
        let mut send = |us, up, flags, numbers, len| {
            packet(&mut pcap, begin + us, (n, up), flags, numbers, len);
        };
        send(0, true, SYN, [0, 0], 0);
        send(1_000, false, SYN | ACK, [0, 1], 0);
        send(2_000, true, ACK, [1, 1], 0);
        let segments = if n == short { 60 } else { 1 };
        let len = if n == short {
            1400
        } else {
            100 + n.wrapping_mul(40_503) % 1300
        };
        for i in 0..segments {
            let (us, seq) = (2_100 + 100 * i, 1 + i * u32::from(len));
            send(us, false, ACK, [seq, 1], len);
            send(us + 50, true, ACK, [1, seq + u32::from(len)], 0);
        }
    }
    pcap
}

/// The rows of some columns of a table, as numbers.
fn rows_of(dir: &Path, table: &str, columns: &[&str]) -> Vec<Vec<Option<f64>>> {
    let run = RunReader::open(dir).unwrap();
    let batches = run
        .read_columns(table, columns)
        .unwrap()
        .map(Result::unwrap);
    let rows = batches.flat_map(|batch| {
        let row = |row| {
            columns
                .iter()
                .map(|name| batch.column(name).unwrap().as_f64(row))
                .collect()
        };
        (0..batch.len()).map(row).collect::<Vec<Vec<_>>>()
    });
    rows.collect()
}

#[test]
fn short_flows_that_no_report_shows_have_no_series_and_count_as_before() {
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("many.pcap");
    fs::write(&capture, many_flows(3_000)).unwrap();
    let inputs = [capture.display().to_string()];
    let analysed = |name: &str, all_series, threads| {
        let mut options = Options {
            threads,
            ..Options::default()
        };
        options.params.all_series = all_series;
        let place = folder.path().join(name);
        analyze(&inputs, &options, new_run(place.clone(), true), &mut |_| {
            Control::Continue
        })
        .unwrap();
        place
    };
    let (usual, all) = (analysed("usual", false, 1), analysed("all", true, 1));
    let (kept, every) = (parquet(&usual), parquet(&all));
    assert_eq!(parquet(&analysed("two", false, 2)), kept);
    let differ = kept.keys().filter(|name| kept[*name] != every[*name]);
    assert_eq!(
        differ.collect::<Vec<_>>(),
        ["in_flight.parquet", "rtt.parquet"]
    );

    let mut flows = rows_of(&usual, "flows", &["flow_id", "payload_down_bytes"]);
    assert_eq!(flows.len(), 3_001);
    flows.sort_by(|a, b| b[1].partial_cmp(&a[1]).unwrap());
    for (table, columns) in [
        ("rtt", &["flow_id", "time_ns", "rtt_ms"]),
        ("in_flight", &["flow_id", "time_ns", "in_flight_bytes"]),
    ] {
        let [mut of_usual, mut of_all] = [&usual, &all].map(|dir| rows_of(dir, table, columns));
        let ids: BTreeSet<_> = of_usual.iter().map(|row| row[0].unwrap() as u64).collect();
        assert!(ids.len() < 1_500, "{table}: {} flows", ids.len());
        // The report shows the largest 200, the long one first.
        assert!(
            flows[..200]
                .iter()
                .all(|flow| ids.contains(&(flow[0].unwrap() as u64))),
            "{table}"
        );
        of_all.retain(|row| ids.contains(&(row[0].unwrap() as u64)));
        for rows in [&mut of_usual, &mut of_all] {
            rows.sort_by(|a, b| a.partial_cmp(b).unwrap());
        }
        assert_eq!(of_usual, of_all);
    }
}

/// Counts the rows of all tables.
struct Counter(std::rc::Rc<std::cell::Cell<usize>>);

impl RowSink for Counter {
    fn take(&mut self, _table: usize, rows: &Rows) -> std::io::Result<()> {
        self.0.set(self.0.get() + rows.len());
        Ok(())
    }

    fn finish(self: Box<Self>) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_sink_sees_the_rows_without_a_folder() {
    let seen = std::rc::Rc::default();
    let keep = Keep {
        run: None,
        sink: Some(Box::new(Counter(std::rc::Rc::clone(&seen)))),
        series: true,
    };
    let options = Options::default();
    let (mut source, inputs) = open(&capture()).unwrap();
    let mut store = Store::open(&options, inputs, keep).unwrap();
    let outcome = run(&mut *source, &options, &mut store, &mut |_| {
        Control::Continue
    })
    .unwrap();
    assert_eq!(store.finish(&outcome).unwrap().dir, None);
    assert!(seen.get() > 1_000, "{}", seen.get());
}

/// Rows of `standing`: all, and those that have two seconds of windows or say that something stood.
struct Stood([usize; 2], std::sync::mpsc::Sender<[usize; 2]>);

impl RowSink for Stood {
    fn take(&mut self, table: usize, rows: &Rows) -> std::io::Result<()> {
        let table = &tables()[table];
        if table.name == "standing" {
            let [windows, stood] = ["windows", "standing_windows"].map(|name| {
                let at = table.column(name).unwrap();
                &rows.columns()[at]
            });
            let says =
                |row: &usize| windows.as_f64(*row) >= Some(8.0) || stood.as_f64(*row) > Some(0.0);
            self.0[0] += rows.len();
            self.0[1] += (0..rows.len()).filter(says).count();
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> std::io::Result<()> {
        self.1.send(self.0).unwrap();
        Ok(())
    }
}

/// With every flow of a second or more told, most rows say nothing.
#[test]
fn rows_that_say_nothing_of_a_queue_are_not_kept() {
    let told = |standing_of_all_flows| {
        let (send, told) = std::sync::mpsc::channel();
        let keep = Keep {
            run: None,
            sink: Some(Box::new(Stood([0; 2], send))),
            series: true,
        };
        let mut options = Options::default();
        options.params.standing_of_all_flows = standing_of_all_flows;
        let (mut source, inputs) = open(&capture()).unwrap();
        let mut store = Store::open(&options, inputs, keep).unwrap();
        let outcome = run(&mut *source, &options, &mut store, &mut |_| {
            Control::Continue
        });
        store.finish(&outcome.unwrap()).unwrap();
        told.recv().unwrap()
    };
    let all = told(true);
    assert_eq!(all, told(false));
    assert!(all[0] > 0 && all[0] == all[1], "{all:?}");
}

#[test]
fn a_capture_that_is_missing_is_an_error_and_leaves_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("run");
    let missing = vec![folder.path().join("none.pcap").display().to_string()];
    let run = new_run(place.clone(), true);
    let error = analyze(&missing, &Options::default(), run, &mut |_| {
        Control::Continue
    });
    let text = error.err().unwrap().to_string();
    assert!(text.contains("none.pcap"), "{text}");
    assert!(!place.exists());
}
