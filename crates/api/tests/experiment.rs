//! Scenarios by the library: plans, runs, tables, and the comparison of their folders.

use std::convert::Infallible;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use unbloat_api::compare::{DOCUMENT, Document, PAGE, Pair, side_by_side, write_folder};
use unbloat_api::experiment::{
    Campaign, Changes, Layout, Plan, PlanError, Simulator, all, averages, info,
    refuse_kernel_queues, run_all, text, unknown,
};
use unbloat_api::folder::write_tables;
use unbloat_compare::Overall;
use unbloat_table::{Rows, Table};

const SCENARIO: &str = "
[scenario]
duration = \"4 s\"
seed = 7

[link.down]
rate = \"10 Mbit/s\"
delay = \"10 ms\"
queue = { kind = \"droptail\", limit = \"200 packets\" }

[[flow]]
name = \"download\"
app = \"bulk\"

[score]
\"all.goodput\" = \">= 1 Gbit/s\"
";

fn plan(set: &[String], repeats: Option<u32>) -> Result<Plan, PlanError> {
    let changes = Changes {
        set,
        seed: None,
        repeats,
    };
    Plan::of_text(Path::new("s.toml"), SCENARIO, &changes)
}

fn campaign(plan: &Plan, threads: usize, stop: bool) -> Campaign {
    let simulator = Simulator { threads };
    let Ok(campaign) = run_all::<Infallible>(plan, &simulator, &(), &AtomicBool::new(stop));
    campaign
}

fn named<'a>(all: &'a [(Table, Rows)], name: &str) -> &'a Rows {
    &all.iter().find(|(table, _)| table.name == name).unwrap().1
}

#[test]
fn a_sweep_does_not_depend_on_threads_and_is_judged() {
    let set = ["link.down.queue.limit=[\"20 packets\", \"200 packets\"]".to_owned()];
    let plan = plan(&set, Some(2)).unwrap();
    assert_eq!((plan.runs(), plan.set.as_slice()), (4, &set[..]));
    let [one, two] = [1, 2].map(|threads| campaign(&plan, threads, false));
    let shown = text(&plan, &one, Layout::default());
    assert_eq!(shown, text(&plan, &two, Layout::default()));
    assert!(shown.contains("BROKEN"), "{shown}");
    assert!(!one.keeps_bounds() && !one.is_cut);
    let tables = all(&plan, &one);
    assert_eq!(named(&tables, "points").len(), 2);
    assert_eq!(named(&tables, "averages").len(), averages(&one).len());
    assert_eq!(named(&tables, "queue_series").len(), 0);
    assert_eq!(unknown(&plan, &one), None);
}

#[test]
fn series_are_kept_on_request_and_a_stop_cuts() {
    let mut plan = plan(&[], None).unwrap();
    plan.keep_series().unwrap();
    let tables = all(&plan, &campaign(&plan, 1, false));
    assert!(named(&tables, "queue_series").len() > 100);
    let cut = campaign(&plan, 1, true);
    assert!(cut.is_cut && cut.runs.is_empty());
}

#[test]
fn runs_of_two_queues_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let queues = ["20 packets", "200 packets"];
    let dirs = queues.map(|limit| {
        let set = [format!("link.down.queue.limit=\"{limit}\"")];
        let plan = plan(&set, None).unwrap();
        let done = campaign(&plan, 1, false);
        let simulator = Simulator { threads: 1 };
        let command = vec!["unbloat".to_owned()];
        let info = info::<Infallible>(&plan, &done, &simulator, command);
        assert_eq!(info.options["set"][0], set[0].as_str());
        let place = folder.path().join(limit);
        write_tables(&place, &info, &all(&plan, &done)).unwrap()
    });
    let [a, b] = dirs;
    let pair = Pair {
        a,
        b,
        within: vec!["queue_delay_p95 1 %".parse().unwrap()],
    };
    let comparison = side_by_side(&pair).unwrap();
    assert!(comparison.verdict.overall != Overall::NothingInCommon);
    assert!(
        comparison
            .judgements
            .iter()
            .any(|judgement| !judgement.holds)
    );
    let out = folder.path().join("compared");
    write_folder(&out, &pair, &comparison, vec!["unbloat".to_owned()]).unwrap();
    let document = std::fs::read_to_string(out.join(DOCUMENT)).unwrap();
    assert_eq!(document, Document::of(&comparison).text().unwrap());
    assert!(out.join(PAGE).metadata().unwrap().len() > 1_000);
    let missing = Pair {
        b: folder.path().join("none"),
        ..pair
    };
    let error = side_by_side(&missing).err().unwrap().to_string();
    assert!(error.contains("none"), "{error}");
}

#[test]
fn faults_name_the_file() {
    let error = plan(&["link.down.queu=codel".to_owned()], None)
        .err()
        .unwrap();
    assert!(error.to_string().starts_with("s.toml: "), "{error}");
    let missing = Plan::of_file(Path::new("/nowhere/s.toml"), &Changes::default());
    let unread = missing.err().unwrap().to_string();
    assert!(
        unread.starts_with("cannot read /nowhere/s.toml: "),
        "{unread}"
    );
    let set = ["link.down.queue={ kernel = \"fq_codel\" }".to_owned()];
    let kernel = plan(&set, None).unwrap();
    assert!(matches!(
        refuse_kernel_queues(&kernel),
        Err(PlanError::KernelQueue { .. })
    ));
}
