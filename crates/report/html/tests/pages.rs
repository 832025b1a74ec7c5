//! All kinds of pages in Chromium: how they look on a desk and on a phone, by day and at night, whether all can use them, and what their buttons do.

#[path = "synthetic/comparison.rs"]
mod comparison;
#[path = "pages/monitor.rs"]
mod monitor;
#[path = "pages/runs.rs"]
mod runs;
mod synthetic;
#[path = "pages/two_tests.rs"]
mod two_tests;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use unbloat_compare::Comparison;
use unbloat_html::{RenderOptions, render, render_comparison, render_monitor};

/// Pages by name, in a folder that goes away.
struct Pages {
    folder: tempfile::TempDir,
}

impl Pages {
    fn new() -> Pages {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Pages { folder }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.html"))
    }

    fn report(&self, name: &str, run: &Path) -> PathBuf {
        let file = self.file(name);
        let mut out = File::create(&file).expect("a file");
        render(&synthetic::open(run), &mut out, &RenderOptions::default()).expect("a report");
        file
    }

    fn capture(&self, flows: u64) -> PathBuf {
        let folder = self.folder.path().join(format!("capture-{flows}"));
        fs::create_dir(&folder).expect("a folder");
        let (run, _) = synthetic::write_run(&folder, flows);
        self.report(&format!("analyze-{flows}"), &run)
    }

    fn monitor(&self) -> PathBuf {
        let file = self.file("monitor");
        let mut out = File::create(&file).expect("a file");
        render_monitor(&monitor::page(), &mut out).expect("a page");
        file
    }

    fn compared(&self, name: &str, comparison: &Comparison) -> PathBuf {
        let file = self.file(name);
        let mut out = File::create(&file).expect("a file");
        render_comparison(comparison, &mut out).expect("a page");
        file
    }
}

fn node(script: &str, arguments: &[&Path]) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/pages")
        .join(script);
    let mut node = Command::new("node");
    let output = node
        .arg(script)
        .args(arguments)
        .output()
        .expect("node runs");
    let said =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success(), "{}", said.concat());
}

/// Where `tools/install test` puts what package.json names.
fn modules() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/report-pages/node_modules")
}

fn has_modules() -> Result<(), String> {
    let missing = || "axe-core not installed (tools/install test)".to_owned();
    modules()
        .join("axe-core/axe.min.js")
        .is_file()
        .then_some(())
        .ok_or_else(missing)
}

fn all_pages_fit_can_be_read_and_can_be_used_by_all() {
    let pages = Pages::new();
    let folder = pages.folder.path();
    let files = [
        pages.capture(60),
        pages.capture(0),
        pages.report("sim", &runs::simulation(folder)),
        pages.report("sweep", &runs::sweep(folder)),
        pages.report("campaign", &runs::campaign(folder)),
        pages.report("test", &runs::test(folder)),
        pages.report("locate", &runs::location(folder)),
        pages.compared("compare", &comparison::comparison()),
        pages.compared("compare-tests", &two_tests::comparison()),
    ];
    look(&files);
}

fn the_page_of_the_monitor_fits_and_can_be_used_by_all() {
    let pages = Pages::new();
    look(&[pages.monitor()]);
}

/// Pictures of them are in target/tmp/report-pages.
fn look(files: &[PathBuf]) {
    let pictures = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report-pages");
    fs::create_dir_all(&pictures).expect("a folder");
    let modules = modules();
    let arguments = [modules.as_path(), pictures.as_path()];
    let arguments: Vec<&Path> = arguments
        .into_iter()
        .chain(files.iter().map(PathBuf::as_path))
        .collect();
    node("looks.mjs", &arguments);
}

fn charts_show_gaps_zoom_and_are_saved() {
    let pages = Pages::new();
    let page = pages.report("sim", &runs::simulation(pages.folder.path()));
    node("charts.mjs", &[&page, pages.folder.path()]);
}

fn a_test_is_one_picture_that_says_of_what() {
    let pages = Pages::new();
    let folder = pages.folder.path();
    let test = pages.report("test", &runs::test(folder));
    let compared = pages.compared("tests", &two_tests::comparison());
    node(
        "together.mjs",
        &[&test, &compared, &pages.monitor(), folder],
    );
}

fn flows_are_chosen_by_keyboard() {
    let pages = Pages::new();
    node("flows.mjs", &[&pages.capture(60)]);
}

fn what_each_run_came_to_is_said_first() {
    let pages = Pages::new();
    let folder = pages.folder.path();
    for (page, headline) in [
        (
            runs::simulation(folder),
            "Grade D: downloads wait 338 ms in queues on average.",
        ),
        (
            runs::sweep(folder),
            "Added delay from 3 ms (grade A+) to 406 ms (grade F), by link.down.queue.kind.",
        ),
        (
            runs::campaign(folder),
            "Added delay from 5 ms (grade A) to 239 ms (grade D).",
        ),
        (runs::test(folder), "Bufferbloat"),
        (runs::location(folder), "Load fills a queue"),
    ] {
        let html = fs::read_to_string(pages.report("page", &page)).expect("a page");
        let (_, card) = html
            .split_once("<section class=\"card verdict")
            .expect("a card");
        let (_, said) = card.split_once("<h2>").expect("its headline");
        assert!(
            said.starts_with(headline),
            "{}",
            said.get(..200).unwrap_or(said)
        );
        let before = html.split_once("<section").expect("a section").1;
        assert!(before.starts_with(" class=\"card"), "the card is first");
    }
}

unbloat_testkit::main! {
    always() => [what_each_run_came_to_is_said_first],
    tools(&["node", "chromium"]) => [
        a_test_is_one_picture_that_says_of_what,
        charts_show_gaps_zoom_and_are_saved,
        flows_are_chosen_by_keyboard,
    ],
    tools(&["node", "chromium"]).and(check(has_modules)) => [
        all_pages_fit_can_be_read_and_can_be_used_by_all,
        the_page_of_the_monitor_fits_and_can_be_used_by_all,
    ],
}
