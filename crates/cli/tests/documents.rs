//! The command lines of README and documentation are run, and do what the text around them says. `documents/lines.toml` has an entry
//! for each: what it must print, or why it cannot be run here.

#[path = "documents/pasted.rs"]
mod pasted;
#[path = "documents/text.rs"]
mod text;
#[path = "documents/world.rs"]
mod world;

use pasted::Pasted;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use unbloat_testkit::Test;
use unbloat_testkit::needs::{Need, always, check, kernel, root, tools};
use world::{Ended, World};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lines {
    run: Vec<Run>,
    elsewhere: Vec<Elsewhere>,
}

/// A line that is run.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    line: String,
    /// Shell commands before and after it, in the same world. What the second ones print counts as the line's.
    #[serde(default)]
    before: String,
    #[serde(default)]
    after: String,
    /// The interface of the host towards router and server. None: the host has no network.
    interface: Option<String>,
    /// Needs a kernel for virtual time.
    #[serde(default)]
    is_virtual: bool,
    /// A program of others that the line needs.
    tool: Option<String>,
    /// The configuration file: shorter stages than a user would have.
    #[serde(default)]
    config: String,
    /// Press Ctrl-C when it has said this.
    until: Option<String>,
    #[serde(default)]
    exit: i32,
    /// A test on a busy machine, also one before the line, may end without a verdict (exit code 5), if it says why.
    #[serde(default)]
    may_be_invalid: bool,
    /// What the output shows: the words of the text.
    #[serde(default)]
    shows: Vec<String>,
    /// Numbers, times and addresses of an output in the document are examples.
    #[serde(default)]
    numbers_vary: bool,
}

/// A line that cannot be run here.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Elsewhere {
    line: String,
    why: String,
}

fn lines() -> Lines {
    let lines = toml::from_str(include_str!("documents/lines.toml"));
    lines.unwrap_or_else(|error| panic!("documents/lines.toml: {error}"))
}

/// Everything that a reader could paste.
fn all_pasted() -> Vec<Pasted> {
    let mut found = Vec::new();
    for (path, text) in text::documents() {
        found.extend(pasted::pasted(&path, &text));
        if path == Path::new("README.md") {
            found.extend(pasted::named(&path, &text));
        }
    }
    found
}

/// What does not fit between the documents and the list.
fn misfits(pasted: &[Pasted], lines: &Lines) -> Vec<String> {
    let in_documents: BTreeSet<&str> = pasted.iter().map(|one| &one.text[..]).collect();
    let (mut listed, mut misfits) = (BTreeSet::new(), Vec::new());
    let entries = lines.run.iter().map(|run| &run.line);
    for line in entries.chain(lines.elsewhere.iter().map(|one| &one.line)) {
        let line = line.trim_end();
        if !listed.insert(line) {
            misfits.push(format!("twice in lines.toml: {line}"));
        }
        if !in_documents.contains(line) {
            misfits.push(format!("in lines.toml, but in no document: {line}"));
        }
    }
    for one in pasted.iter().filter(|one| !listed.contains(&one.text[..])) {
        misfits.push(format!(
            "{}: not in lines.toml: {}",
            one.path.display(),
            one.text
        ));
    }
    for one in lines
        .elsewhere
        .iter()
        .filter(|one| one.why.split_whitespace().count() < 3)
    {
        misfits.push(format!("no reason why it cannot be run: {}", one.line));
    }
    let shows_nothing = |run: &&Run| {
        run.shows.is_empty()
            && !pasted
                .iter()
                .any(|one| one.text == run.line && !one.output.is_empty())
    };
    for run in lines.run.iter().filter(shows_nothing) {
        misfits.push(format!("nothing of it is checked: {}", run.line));
    }
    misfits
}

fn every_line_is_run_or_listed() {
    let pasted = all_pasted();
    assert!(pasted.len() > 100, "only {} lines found", pasted.len());
    let misfits = misfits(&pasted, &lines());
    assert!(misfits.is_empty(), "\n{}\n", misfits.join("\n"));
}

fn what_does_not_fit_is_found() {
    let of = |line: &str| Run {
        line: line.into(),
        shows: vec!["x".into()],
        ..Run::default()
    };
    let why = |why: &str| Elsewhere {
        line: "unbloat c".into(),
        why: why.into(),
    };
    let page = "text `unbloat x`\n\n    sudo unbloat a  a remark\n    $ unbloat b\n    one\n\n      two\n\n    unbloat c   # a remark\n";
    let pasted = pasted::pasted(Path::new("page.md"), page);
    let texts: Vec<&str> = pasted.iter().map(|one| &one.text[..]).collect();
    assert_eq!(texts, ["sudo unbloat a", "unbloat b", "unbloat c"]);
    assert_eq!(pasted[1].output, ["one", "", "  two"]);
    let fits = Lines {
        run: vec![of("sudo unbloat a"), of("unbloat b")],
        elsewhere: vec![why("needs a modem")],
    };
    assert!(misfits(&pasted, &fits).is_empty());
    let [missing, stale, unchecked, unexplained] = [
        Lines {
            run: vec![of("sudo unbloat a")],
            elsewhere: vec![why("needs a modem")],
        },
        Lines {
            run: vec![of("sudo unbloat a"), of("unbloat b"), of("unbloat d")],
            elsewhere: vec![why("needs a modem")],
        },
        Lines {
            run: vec![
                Run {
                    shows: vec![],
                    ..of("sudo unbloat a")
                },
                of("unbloat b"),
            ],
            elsewhere: vec![why("needs a modem")],
        },
        Lines {
            run: vec![of("sudo unbloat a"), of("unbloat b")],
            elsewhere: vec![why("")],
        },
    ]
    .map(|lines| misfits(&pasted, &lines));
    assert!(
        missing[0].contains("not in lines.toml: unbloat b"),
        "{missing:?}"
    );
    assert!(stale[0].contains("in no document: unbloat d"), "{stale:?}");
    assert!(
        unchecked[0].contains("nothing of it is checked"),
        "{unchecked:?}"
    );
    assert!(unexplained[0].contains("no reason"), "{unexplained:?}");
}

/// What a page says in passing is what a benchmark wrote down.
fn figures_come_from_their_evidence() {
    let read = |path: &str| std::fs::read_to_string(text::root().join(path)).expect(path);
    const RESULT: &str = "bench/runs/2026-11-26-xeon-2/result.json";
    const VIRTUAL: &str = "bench/runs/2026-11-26-xeon-2/virtual.md";
    for (page, said, evidence, written) in [
        (
            "README.md",
            "99.6 % correct on 972 held-out",
            "docs/verdicts.md",
            "99.6 % (968 of 972)",
        ),
        (
            "README.md",
            "under 16 of 16 loads",
            "docs/test-accuracy.md",
            "| unbloat | 15 of 16 | 16 of 16 | 15 of 16 |",
        ),
        (
            "README.md",
            "from 300 to 34 ms down and 11 ms up",
            "docs/cures.md",
            "| 299 to 34 | 300 to 11 |",
        ),
        (
            "docs/cluster.md",
            "0.4 to 0.9 million packets",
            RESULT,
            "\"found\": \"0.40 Mpps\"",
        ),
        (
            "docs/cluster.md",
            "0.4 to 0.9 million packets",
            RESULT,
            "\"found\": \"0.87 Mpps\"",
        ),
        (
            "docs/experiments.md",
            "at 35 Mbit/s 23 times",
            VIRTUAL,
            "| 23.5 | 20 | yes |",
        ),
    ] {
        assert!(read(page).contains(said), "{page}: {said}");
        assert!(
            read(evidence).contains(written),
            "{page}: {said}, but {evidence} has no {written}"
        );
    }
}

/// The numbers at the head of the README are those of the run that its picture shows (tools/picture).
fn the_readme_has_the_numbers_of_its_picture() {
    let read = |path: &str| std::fs::read_to_string(text::root().join(path)).expect(path);
    let readme = read("README.md");
    let numbers: serde_json::Value = serde_json::from_str(&read("docs/images/demo.json")).unwrap();
    let of = |run: &str, key: &str| numbers[run][key].to_string().trim_matches('"').to_owned();
    let row = |words: &str, cell: &dyn Fn(&str) -> String| {
        format!("| {words} | {} | {} |\n", cell("before"), cell("after"))
    };
    let added = |way: &'static str| {
        move |run: &str| {
            format!(
                "{} ms, {} ms",
                of(run, &format!("{way}_added_ms")),
                of(run, &format!("{way}_added_p95_ms"))
            )
        }
    };
    let rows = [
        row("Grade", &|run| of(run, "grade")),
        row("Delay that downloads add (mean, p95)", &added("down")),
        row("Delay that uploads add (mean, p95)", &added("up")),
        row("Delivered down, up (Mbit/s)", &|run| {
            format!(
                "{}, {}",
                of(run, "down_delivered_mbps"),
                of(run, "up_delivered_mbps")
            )
        }),
    ];
    assert!(readme.contains(&rows.concat()), "{}", rows.concat());
    let alt = readme
        .split_once("alt=\"")
        .and_then(|(_, rest)| rest.split_once('"'));
    let (alt, _) = alt.expect("the picture has a text");
    for theme in ["light", "dark"] {
        let path = format!("docs/images/demo-{theme}.svg");
        let picture = read(&path);
        assert!(
            readme.contains(&path) && picture.len() < 200_000,
            "{path}: {} bytes",
            picture.len()
        );
        let title = picture
            .split_once("<title>")
            .and_then(|(_, rest)| rest.split_once("</title>"));
        assert_eq!(title.expect("a title").0, alt, "{path}");
    }
}

/// The lines of `expected` that `printed` has not, in this order.
fn lost<'e>(expected: &'e [String], printed: &str, numbers_vary: bool) -> Option<&'e str> {
    let plain = |line: &str| -> String {
        let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
        if !numbers_vary {
            return words;
        }
        let kept = words.chars().filter(|c| !c.is_ascii_digit() && *c != '.');
        kept.collect()
    };
    let mut printed = printed.lines().map(plain);
    let lines = expected.iter().filter(|line| !line.trim().is_empty());
    lines
        .map(String::as_str)
        .find(|line| !printed.any(|one| one == plain(line)))
}

/// Runs one line in a world of its own. A test that is not valid is repeated.
fn try_line(run: &Run, pasted: &[Pasted]) {
    let ended = (0..3).find_map(|_| {
        let ended = World::new(run, &text::root()).run(run);
        let has_no_verdict = matches!(ended.code, Some(5 | world::BEFORE))
            && format!("{}{}", ended.stdout, ended.stderr).contains("No verdict");
        (!run.may_be_invalid || !has_no_verdict).then_some(ended)
    });
    let Some(Ended {
        code,
        stdout,
        stderr,
    }) = ended
    else {
        // It ended as a test without a verdict should, three times; how busy the machine is must not decide.
        return;
    };
    let all = format!("{stdout}{stderr}");
    // Ctrl-C ends a pipe's reader by the signal or, if the writer is quicker, by the end of its input.
    let is_pipe = run.until.is_some() && run.line.contains(" | ");
    let ends_well = code == Some(run.exit) || is_pipe && code == Some(0);
    assert!(ends_well, "{}: {code:?}\n{all}", run.line);
    for words in &run.shows {
        assert!(
            all.contains(words),
            "{}\ndoes not show {words:?}:\n{all}",
            run.line
        );
    }
    for one in pasted.iter().filter(|one| one.text == run.line) {
        let lost = lost(&one.output, &stdout, run.numbers_vary);
        assert!(
            lost.is_none(),
            "{}: {}\ndoes not print {lost:?}:\n{stdout}{stderr}",
            one.path.display(),
            run.line
        );
    }
}

fn need(run: &Run) -> Need {
    let world = root("a world for a line")
        .and(tools(&["bash", "tc"]))
        .and(check(world::is_possible));
    let world = if run.is_virtual {
        world.and(kernel())
    } else {
        world
    };
    match run.tool.as_deref() {
        Some("ping") => world.and(tools(&["ping"])),
        Some("jq") => world.and(tools(&["jq"])),
        Some("openssl") => world.and(tools(&["openssl"])),
        Some("tcpdump") => world.and(tools(&["tcpdump"])),
        Some("zstd") => world.and(tools(&["zstd"])),
        Some(other) => panic!("{other}: add it to tools/install and here"),
        None => world,
    }
}

/// Lines that run at once; most of them wait for most of their time.
const AT_ONCE: usize = 4;

fn main() -> ExitCode {
    let checks = vec![
        Test::new("every_line_is_run_or_listed", every_line_is_run_or_listed),
        Test::new("what_does_not_fit_is_found", what_does_not_fit_is_found),
        Test::new(
            "the_readme_has_the_numbers_of_its_picture",
            the_readme_has_the_numbers_of_its_picture,
        ),
        Test::new(
            "figures_come_from_their_evidence",
            figures_come_from_their_evidence,
        ),
    ];
    let mut groups = vec![(always(), checks)];
    for run in lines().run {
        let name: &'static str = run.line.trim_end().to_owned().leak();
        let need = need(&run);
        groups.push((
            need,
            vec![Test::new(name, move || try_line(&run, &all_pasted()))],
        ));
    }
    unbloat_testkit::run_at_once(Some(AT_ONCE), groups)
}
