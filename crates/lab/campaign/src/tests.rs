//! Campaigns as they are written.

use crate::{Campaign, Flows, Http, Job, Load, Only};
use std::collections::BTreeSet;
use unbloat_units::Bytes;

const TEXT: &str = r#"
    name = "Two carriers"
    server = "box"
    repeats = 3
    seed = 7
    workloads = ["web", "voice"]

    [labels]
    place = { values = ["home", "office"], manual = true }
    queue = ["as it is", { name = "sqm", before = "./sqm on", after = "./sqm off", flows = 4 }]

    [axes]
    congestion_control = ["cubic", "bbr"]
    loads = ["down", ["down", "up"]]
"#;

fn campaign(text: &str) -> Campaign {
    Campaign::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(text: &str) -> String {
    match Campaign::parse(text) {
        Ok(_) => panic!("taken: {text}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_combination_is_a_cell_with_all_that_is_in_force() {
    let campaign = campaign(TEXT);
    let cells = campaign.cells();
    assert_eq!((cells.len(), campaign.runs()), (16, 48));
    assert_eq!(
        cells[0].title(),
        "place=home queue=as it is congestion_control=cubic loads=down"
    );
    let last = &cells[15];
    assert_eq!(
        last.title(),
        "place=office queue=sqm congestion_control=bbr loads=down+up"
    );
    let settings = &last.settings;
    assert_eq!(settings.flows, Some(Flows::Fixed(4)));
    assert_eq!(settings.loads, Some(vec![Load::Down, Load::Up]));
    assert_eq!(settings.congestion_control.as_deref(), Some("bbr"));
    assert_eq!(settings.workloads.as_ref().map(Vec::len), Some(2));
    assert_eq!(last.hooks.len(), 1);
    assert_eq!(last.hooks[0].before.as_deref(), Some("./sqm on"));
    assert!(cells[0].hooks.is_empty());
}

#[test]
fn names_of_cells_are_fit_for_files_and_differ() {
    let cells = campaign(TEXT).cells();
    let ids: BTreeSet<_> = cells.iter().map(|cell| cell.id.clone()).collect();
    assert_eq!(ids.len(), cells.len());
    assert!(
        ids.iter().all(|id| id
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))),
        "{ids:?}"
    );
}

#[test]
fn a_file_that_grows_keeps_what_was_measured_and_one_that_changes_does_not() {
    let ids = |text: &str| -> BTreeSet<String> {
        campaign(text)
            .cells()
            .into_iter()
            .map(|cell| cell.id)
            .collect()
    };
    let before = ids(TEXT);
    let grown = ids(&TEXT
        .replace(r#"["cubic", "bbr"]"#, r#"["reno", "cubic", "bbr"]"#)
        .replace("repeats = 3", "repeats = 5"));
    assert!(grown.is_superset(&before) && grown.len() == 24);
    assert!(
        ids(&TEXT.replace("flows = 4", "flows = 8"))
            .intersection(&before)
            .count()
            == 8
    );
    assert!(
        ids(&TEXT.replace(r#""voice"]"#, r#"{ kind = "voice", playout = "80 ms" }]"#))
            .is_disjoint(&before)
    );
}

#[test]
fn rounds_are_shuffled_within_what_is_changed_by_hand() {
    let campaign = campaign(TEXT);
    let jobs = campaign.jobs();
    let unique: BTreeSet<Job> = jobs.iter().copied().collect();
    assert_eq!((jobs.len(), unique.len()), (48, 48));
    let (home, office) = jobs.split_at(24);
    assert!(home.iter().all(|job| job.cell < 8) && office.iter().all(|job| job.cell >= 8));
    for round in jobs.chunks(8) {
        assert!(round.iter().all(|job| job.repeat == round[0].repeat));
    }
    assert!(!home.is_sorted());
    assert_eq!(jobs, campaign.jobs());
    let as_written = Campaign {
        is_shuffled: false,
        ..campaign
    };
    assert!(as_written.jobs()[..8].is_sorted());
}

#[test]
fn what_is_done_is_not_left_and_a_choice_leaves_the_rest_for_later() {
    let campaign = campaign(TEXT);
    let (cells, jobs) = (campaign.cells(), campaign.jobs());
    let done: BTreeSet<String> = jobs[..5]
        .iter()
        .map(|job| cells[job.cell].run_name(job.repeat))
        .collect();
    assert_eq!(campaign.left(&done, &[]), jobs[5..]);
    let office = Only::parse("place=office", &campaign.axes).unwrap();
    let sqm = Only::parse("queue=sqm", &campaign.axes).unwrap();
    let left = campaign.left(&done, &[office, sqm]);
    assert_eq!(left.len(), 12);
    assert!(left.iter().all(|job| job.cell >= 12));
    for (text, why) in [
        ("place", "write it like"),
        ("plaec=home", "place"),
        ("place=hom", "home, office"),
    ] {
        let error = Only::parse(text, &campaign.axes).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn settings_are_read_with_their_units() {
    let campaign = campaign(
        "server = \"box\"\nreceive_window = \"64 KiB\"\nhttp = 1.1\nflows = \"ramp\"\nworkloads = \"none\"\nplan = \"glance\"",
    );
    let settings = &campaign.settings;
    assert_eq!(settings.receive_window, Some(Bytes::kib(64)));
    assert_eq!(
        (settings.http, settings.flows),
        (Some(Http::One), Some(Flows::Ramp))
    );
    assert_eq!(settings.workloads, Some(Vec::new()));
    assert_eq!(campaign.cells().len(), 1);
}

#[test]
fn what_is_wrong_is_refused_with_line_and_what_would_be_right() {
    for (text, why) in [
        ("", "\"server\" is missing"),
        (
            "server = \"b\"\nrepaets = 2",
            "line 2: repaets: unknown key \"repaets\"; did you mean \"repeats\"?",
        ),
        (
            "server = \"b\"\n[axes]\ncongestion_contrl = [\"bbr\"]",
            "did you mean \"congestion_control\"?",
        ),
        (
            "server = \"b\"\n[axes]\nhttp = [\"2\", \"4\"]",
            "axes.http: unknown value \"4\"",
        ),
        (
            "server = \"b\"\n[axes]\nhttp = [\"2\", 2]",
            "is there twice",
        ),
        ("server = \"b\"\n[axes]\nhttp = []", "array of 1 to"),
        ("server = \"b\"\n[axes]\nhttp = \"2\"", "array of 1 to"),
        (
            "server = \"b\"\n[labels]\nhttp = [\"2\"]",
            "write it under [axes]",
        ),
        (
            "server = \"b\"\n[labels]\nq = [{ name = \"a\", befor = \"x\" }]",
            "did you mean \"before\"?",
        ),
        (
            "server = \"b\"\n[labels]\nq = [{ before = \"x\" }]",
            "\"name\" is missing",
        ),
        (
            "server = \"b\"\n[labels]\nq = { manual = true }",
            "\"values\" is missing",
        ),
        (
            "server = \"b\"\nworkloads = [\"wbe\"]",
            "did you mean \"web\"?",
        ),
        (
            "server = \"b\"\nworkloads = [\"bulk\"]",
            "\"loads\" says it",
        ),
        ("server = \"b\"\nloads = [\"up\", \"up\"]", "each once"),
        ("server = \"b\"\nflows = 0", "1 to 64"),
        ("server = \"b\"\nreceive_window = \"1 B\"", "is allowed"),
        ("server = \"b\"\nrepeats = 0", "out of range"),
        ("server = \"b\"\npause = 5", "pause"),
        (
            "server = \"b\"\nrepeats = 10000\nlabels.a = [1,2,3,4,5,6,7,8,9,10,11]",
            "100000 runs",
        ),
        ("server = [", "line 1"),
    ] {
        let error = refusal(text);
        assert!(error.contains(why), "{text:?}: {error}");
    }
}
