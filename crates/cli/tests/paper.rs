//! `unbloat paper`: the built-in papers against what was published and against the snapshot, and papers of one's own.

use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn unbloat(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unbloat"));
    command.args(words).output().unwrap()
}

fn figures(words: &[&str]) -> Vec<Value> {
    let printed = unbloat(&[&["paper"], words, &["--json", "--quiet"]].concat());
    let said = String::from_utf8_lossy(&printed.stderr);
    assert!(matches!(printed.status.code(), Some(0 | 4)), "{said}");
    let document: Value = serde_json::from_slice(&printed.stdout).unwrap();
    document["figures"].as_array().unwrap().clone()
}

/// Those that need less than some seconds, and no synthetic trace.
const QUICK: [(&str, &[&str]); 5] = [
    ("cellnet2012", &[]),
    (
        "imc2012",
        &["fig6", "fig7", "fig8", "fig9", "fig11", "drs", "drwa"],
    ),
    ("imc2016", &["fig6b", "fig7", "fig8", "fig9", "fig11"]),
    ("cacm", &["fig3", "fig4"]),
    ("sigcomm2013", &["fig11-12", "fig15-16"]),
];

fn quick() -> Vec<Value> {
    let of = |(paper, chosen): &(&str, &[&str])| figures(&[&[*paper], *chosen].concat());
    QUICK.iter().flat_map(of).collect()
}

fn orders_signs_and_bounds_hold_but_where_a_recipe_says_why_not() {
    for figure in quick() {
        let name = format!("{} {}", figure["paper"], figure["figure"]);
        let fails = |claim: &&Value| claim["holds"] == Value::Bool(false);
        let failing: Vec<&Value> = figure["claims"]
            .as_array()
            .unwrap()
            .iter()
            .filter(fails)
            .collect();
        let is_explained = figure["because"].is_string();
        assert!(failing.is_empty() || is_explained, "{name}: {failing:#?}");
        // A quantity that no run has is a slip of the recipe, not of the paper.
        for claim in figure["claims"].as_array().unwrap() {
            assert!(claim["ours"].is_object(), "{name}: {claim:#}");
        }
    }
}

fn figures_are_those_of_the_snapshot() {
    let compared = compare(&quick(), "snapshot.csv");
    assert!(compared > 60, "{compared} curves");
}

/// Short ones, made with Linux's own TCP.
fn linux_makes_figures_in_virtual_time() {
    let clock = ["--clock", "virtual"];
    let startup = figures(&[&["bbr2016", "fig5"][..], &clock].concat());
    assert_eq!(
        startup[0]["verdict"], "agrees",
        "{:#}",
        startup[0]["claims"]
    );
    let loss = figures(&[&["sigcomm2013", "fig15-16"][..], &clock].concat());
    // The kernel has no sender without RTT samples from SACKs.
    let holds = |number: usize| loss[0]["claims"][number]["holds"].clone();
    assert_eq!(
        [0, 1, 2].map(holds),
        [Value::Bool(true), Value::Null, Value::Bool(true)]
    );
    assert!(loss[0]["because"].is_string());
    let compared = compare(&[startup, loss].concat(), "snapshot-linux.csv");
    assert!(compared > 3, "{compared} curves");
}

/// Linux's congestion windows of this figure: when CUBIC leaves slow start by delay depends on moments within a tick of the kernel's clock, which differ
/// from build to build of this program. The claims about the figure hold in all, and the bytes in flight are compared.
fn is_unsteady([paper, figure, panel, _]: &[String; 4]) -> bool {
    (&**paper, &**figure, &**panel) == ("sigcomm2013", "fig15-16", "a")
}

/// Returns the number of curves; all are in the snapshot.
fn compare(figures: &[Value], snapshot: &str) -> usize {
    let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    let mut rows = csv::Reader::from_path(papers.join(snapshot)).unwrap();
    let mut kept: BTreeMap<[String; 4], [f64; 5]> = BTreeMap::new();
    for row in rows.records() {
        let row = row.unwrap();
        let key = [0, 1, 2, 3].map(|column| row[column].to_owned());
        let numbers = [4, 5, 6, 7, 8].map(|column| row[column].parse().unwrap());
        kept.insert(key, numbers);
    }
    let mut compared = 0;
    for figure in figures {
        for panel in figure["panels"].as_array().unwrap() {
            for series in panel["series"].as_array().unwrap() {
                let text = |value: &Value| value.as_str().unwrap().to_owned();
                let key = [
                    text(&figure["paper"]),
                    text(&figure["figure"]),
                    text(&panel["panel"]),
                    text(&series["name"]),
                ];
                let y: Vec<f64> = series["y"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|y| y.as_f64().unwrap())
                    .collect();
                // Of a run that the kernel cannot do.
                if y.is_empty() {
                    assert!(!kept.contains_key(&key), "{key:?} has no points");
                    continue;
                }
                let [points, mean, least, most, spread] = *kept.get(&key).unwrap_or_else(|| {
                    panic!("{key:?} is not in {snapshot}; run bench/papers/run")
                });
                assert_eq!(y.len() as f64, points, "{key:?}");
                let ours = [
                    y.iter().sum::<f64>() / y.len() as f64,
                    y.iter().copied().fold(f64::INFINITY, f64::min),
                    y.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                ];
                // What another seed could do, and a tenth of the figure's height for one without repeats.
                let reach = spread.max(0.1 * most.abs().max(least.abs()));
                if is_unsteady(&key) && snapshot == "snapshot-linux.csv" {
                    continue;
                }
                for (now, then) in ours.into_iter().zip([mean, least, most]) {
                    assert!(
                        (now - then).abs() <= reach,
                        "{key:?}: {now} and {then}, +- {reach}"
                    );
                }
                compared += 1;
            }
        }
    }
    compared
}

fn the_list_has_all_papers_with_what_makes_their_figures() {
    let printed = unbloat(&["paper", "list", "--format", "csv"]);
    let text = String::from_utf8(printed.stdout).unwrap();
    for paper in ["cellnet2012", "imc2012", "imc2016", "sigcomm2013", "cacm"] {
        assert!(text.contains(&format!("{paper},")), "{paper}");
    }
    assert!(text.lines().count() > 55, "{text}");
    let unknown = unbloat(&["paper", "imc2012", "fig99"]);
    let said = String::from_utf8(unknown.stderr).unwrap();
    assert_eq!(unknown.status.code(), Some(1));
    assert!(
        said.contains("imc2012 has no \"fig99\"; it has fig6, fig7"),
        "{said}"
    );
}

/// A paper in a folder of its own: one figure over one scenario, and an own run laid over it.
fn own_paper(folder: &Path, own: &str) -> PathBuf {
    let paper = folder.join("papers/mine2026");
    std::fs::create_dir_all(&paper).unwrap();
    let write = |name: &str, text: &str| std::fs::write(paper.join(name), text).unwrap();
    write(
        "paper.toml",
        "title = \"Mine\"\nauthors = \"Me\"\nvenue = \"2026\"\nabout = \"A test.\"\nfigures = [\"fig1\"]\n",
    );
    write(
        "line.toml",
        "[scenario]\nduration = \"10 s\"\n[link.down]\nrate = \"4 Mbit/s\"\ndelay = \"20 ms\"\n[link.up]\ndelay = \"20 ms\"\n\
         [[flow]]\nname = \"download\"\napp = \"bulk\"\n",
    );
    let figure = "label = \"Figure 1\"\ntitle = \"Rate\"\nplace = \"1\"\nshows = \"The rate.\"\n\
         [run.line]\nscenario = \"line.toml\"\nset = ['link.down.rate=[\"2 Mbit/s\", \"4 Mbit/s\"]']\n\
         [[panel]]\ntitle = \"Throughput\"\nx = { label = \"rate\", unit = \"Mbit/s\" }\ny = { label = \"throughput\", unit = \"Mbit/s\" }\n\
         [[panel.series]]\nname = \"download\"\nrun = \"line\"\nx = \"link.down.rate\"\nresult = \"download.goodput_bps\"\n\
         [[panel.own]]\nname = \"yours\"\nOWN\n\
         [[claim]]\nsays = \"The line carries its rate less headers\"\nunit = \"Mbit/s\"\nvalue = 3.8\n\
         ours = { run = \"line\", at = { \"link.down.rate\" = \"4 Mbit/s\" }, result = \"download.goodput_bps\" }\n";
    write("fig1.toml", &figure.replace("OWN", own));
    paper
}

fn a_paper_of_ones_own_is_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let papers = folder.path().join("papers");
    let papers = papers.to_str().unwrap();
    // A series in ms does not fit an axis in Mbit/s.
    own_paper(
        folder.path(),
        "table = \"window_series\"\nx = \"srtt_ms\"\ny = \"srtt_ms\"",
    );
    let refused = unbloat(&["paper", "mine2026", "--papers", papers, "--no-run"]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        said.contains("mine2026/fig1.toml") && said.contains("srtt_ms"),
        "{said}"
    );

    let own = "table = \"flow_goodput_series\"\nx = \"goodput_bps\"\ny = \"goodput_bps\"";
    let paper = own_paper(folder.path(), own);
    let out = folder.path().join("out");
    let made = unbloat(&[
        "paper",
        "mine2026",
        "--papers",
        papers,
        "--out",
        out.to_str().unwrap(),
    ]);
    let text = String::from_utf8(made.stdout).unwrap();
    assert_eq!(
        made.status.code(),
        Some(0),
        "{text}{}",
        String::from_utf8_lossy(&made.stderr)
    );
    assert!(text.contains("Agrees: the statement holds."), "{text}");
    for name in [
        "mine2026.html",
        "mine2026/line.toml",
        "paper.json",
        "verdicts.parquet",
    ] {
        assert!(out.join(name).is_file(), "{name}");
    }

    // A run of the same scenario appears in the figure; a run of another kind is refused.
    let run = folder.path().join("run");
    let scenario = paper.join("line.toml");
    let simulated = unbloat(&[
        "sim",
        scenario.to_str().unwrap(),
        "--quiet",
        "--out",
        run.to_str().unwrap(),
    ]);
    assert!(simulated.status.success());
    let with = ["paper", "mine2026", "--papers", papers, "--json", "--with"];
    let beside = unbloat(&[&with[..], &[run.to_str().unwrap()]].concat());
    let document: Value = serde_json::from_slice(&beside.stdout).unwrap();
    let series = document["figures"][0]["panels"][0]["series"]
        .as_array()
        .unwrap();
    assert_eq!(series[1]["name"], "yours");
    assert!(series[1]["x"].as_array().unwrap().len() > 5);
    let other = folder.path().join("model");
    assert!(
        unbloat(&["model", "--out", other.to_str().unwrap()])
            .status
            .success()
    );
    let nothing = unbloat(&[&with[..], &[other.to_str().unwrap()]].concat());
    let refusal = String::from_utf8(nothing.stderr).unwrap();
    assert_eq!(nothing.status.code(), Some(1));
    assert!(
        refusal.contains("mine2026 fig1: table flow_goodput_series"),
        "{refusal}"
    );
}

/// A campaign against a server on this host: two states of a router that does nothing, two loads.
fn a_campaign_is_drawn_beside_the_matrix() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_unbloat"));
    server.args([
        "serve",
        "--json",
        "--listen",
        "127.0.0.1:0",
        "--listen-echo",
        "127.0.0.1:0",
    ]);
    let mut server = server
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let read = BufReader::new(server.stdout.take().unwrap()).read_line(&mut line);
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("matrix.toml"), folder.path().join("out"));
    let addresses: Value = serde_json::from_str(&line).unwrap();
    let text = format!(
        "name = \"m\"\nserver = {}\nplan = \"glance\"\npause = \"0 s\"\ninsecure = true\nworkloads = [\"ping\"]\n[labels]\n\
         router = [\"shaping off, SQM off\", \"shaping on, SQM on\"]\n\
         load = [{{ name = \"idle\", loads = \"idle\" }}, {{ name = \"2 x 1080p + speed test\", loads = \"down\" }}]\n",
        addresses["tls"]
    );
    std::fs::write(&file, text).unwrap();
    let [file, out] = [&file, &out].map(|path| path.to_str().unwrap());
    let measured = unbloat(&["campaign", file, "--out", out, "--quiet"]);
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(read.unwrap() > 0);
    let said = String::from_utf8_lossy(&measured.stderr);
    assert!(measured.status.success(), "{said}");

    let fig5 = figures(&["cacm", "fig5", "--repeats", "1", "--with", out]);
    let panel = &fig5[0]["panels"][0];
    let yours = panel["series"].as_array().unwrap().iter();
    let yours: Vec<&Value> = yours
        .filter(|series| series["name"].as_str().unwrap().starts_with("yours: "))
        .collect();
    assert_eq!(yours.len(), 2, "{panel:#}");
    for series in yours {
        // The two loads where they stand in the figure, with round trips over the loopback device.
        assert_eq!(series["x"], serde_json::json!([0.0, 8.0]), "{series:#}");
        let rtts = series["y"].as_array().unwrap().iter();
        assert!(
            rtts.map(|y| y.as_f64().unwrap())
                .all(|ms| ms > 0.0 && ms < 50.0)
        );
    }

    let refused = unbloat(&["paper", "imc2016", "fig8", "--with", out]);
    let refusal = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        refusal.contains("imc2016 fig8: table host_waits"),
        "{refusal}"
    );
}

fn in_chromium_the_page_fits_a_desk_and_a_phone() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let made = unbloat(&[
        "paper",
        "cellnet2012",
        "--quiet",
        "--out",
        out.to_str().unwrap(),
    ]);
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/paper-page.mjs");
    let mut node = Command::new("node");
    let shown = node
        .arg(script)
        .arg(out.join("cellnet2012.html"))
        .arg(folder.path());
    let shown = shown.output().unwrap();
    let said = [shown.stdout, shown.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(shown.status.success(), "{}", said.concat());
}

unbloat_testkit::main! {
    always() => [
        orders_signs_and_bounds_hold_but_where_a_recipe_says_why_not,
        figures_are_those_of_the_snapshot,
        the_list_has_all_papers_with_what_makes_their_figures,
        a_paper_of_ones_own_is_a_folder,
        a_campaign_is_drawn_beside_the_matrix,
    ],
    kernel() => [linux_makes_figures_in_virtual_time],
    tools(&["node", "chromium"]) => [
        in_chromium_the_page_fits_a_desk_and_a_phone,
    ],
}
