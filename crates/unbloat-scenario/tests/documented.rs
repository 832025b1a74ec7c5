//! `docs/scenario.md` names every key that the code asks for: a key that nobody knows is answered with those that are allowed.

use std::path::Path;
use unbloat_scenario::build;
use unbloat_scenario::text::Node;

/// The keys allowed in the table that `text` gives the key `zzz`.
fn allowed(text: &str) -> Vec<String> {
    let node = Node::parse(text).unwrap();
    let error = build(&node, &|_| Err("no files".into())).unwrap_err();
    let message = error.to_string();
    let Some((_, list)) = message.split_once("(allowed: ") else {
        assert!(
            message.contains("nothing is allowed"),
            "{message} for\n{text}"
        );
        return Vec::new();
    };
    let list = list.trim_end_matches(')').split(", ");
    list.map(str::to_owned).collect()
}

/// A scenario with these lines in its tables.
fn scenario(head: &str, link: &str, down: &str, up: &str, flow: &str) -> String {
    format!(
        "[scenario]\n{head}\n[link]\n{link}\n[link.down]\n{down}\n[link.up]\n{up}\n[[flow]]\n{flow}\n"
    )
}

const BULK: &str = "app = \"bulk\"";
const RATE: &str = "rate = \"1 Mbit/s\"";

/// Heading of the section, and a scenario with an unknown key in its table.
fn tables() -> Vec<(String, String)> {
    let link = |down: String| scenario("", "", &down, "", BULK);
    let flow = |flow: String| scenario("", "", "", "", &flow);
    let mut tables = vec![
        (
            "[scenario]".to_owned(),
            scenario("zzz = 1", "", "", "", BULK),
        ),
        ("[link.down]".to_owned(), link("zzz = 1".to_owned())),
        ("[[flow]]".to_owned(), flow(format!("{BULK}\nzzz = 1"))),
        (
            "[link.rrc]".to_owned(),
            scenario("", "rrc = { zzz = 1 }", "", "", BULK),
        ),
        (
            "drx".to_owned(),
            scenario("", "rrc = { drx = { zzz = 1 } }", "", "", BULK),
        ),
    ];
    for name in ["device", "framing", "outages", "hold", "loss", "radio"] {
        let (inside, key) = match name {
            "loss" => ("kind = \"burst\", zzz = 1", "loss"),
            "radio" => ("kind = \"lte\", zzz = 1", "radio"),
            "outages" => ("every = \"1 s\", zzz = 1", "outages"),
            other => ("zzz = 1", other),
        };
        let lines = format!("{RATE}\n{key} = {{ {inside} }}");
        tables.push((name.to_owned(), scenario("", "", "", &lines, BULK)));
    }
    for name in unbloat_queue::NAMES {
        let queue = format!("{RATE}\nqueue = {{ kind = \"{name}\", zzz = 1 }}");
        tables.push((format!("queue {name}"), link(queue)));
    }
    for name in unbloat_tcp::congestion::NAMES {
        let cc = format!("{BULK}\ncc = {{ kind = \"{name}\", zzz = 1 }}");
        tables.push((format!("cc {name}"), flow(cc)));
    }
    for name in unbloat_tcp::receive_window::NAMES {
        let rule = format!("{BULK}\nreceive_window = {{ kind = \"{name}\", zzz = 1 }}");
        tables.push((format!("receive_window {name}"), flow(rule)));
    }
    for name in unbloat_workload::NAMES {
        let app = format!("app = {{ kind = \"{name}\", zzz = 1 }}");
        tables.push((format!("app {name}"), flow(app)));
    }
    tables
}

#[test]
fn every_key_stands_in_the_document() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenario.md");
    let document = std::fs::read_to_string(path).unwrap();
    let rows: Vec<_> = document
        .lines()
        .filter(|line| line.starts_with("| "))
        .collect();
    let mut missing = Vec::new();
    for (table, text) in tables() {
        for key in allowed(&text).into_iter().filter(|key| key != "zzz") {
            let start = format!("| `{table}` | `{key}` |");
            if !rows.iter().any(|row| row.starts_with(&start)) {
                missing.push(start);
            }
        }
    }
    assert!(
        missing.is_empty(),
        "docs/scenario.md lacks\n{}",
        missing.join("\n")
    );
}
