//! An analysis by the library: the same tables from [`analyze`] and from a store that is fed piece by piece.

use std::collections::BTreeMap;
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
