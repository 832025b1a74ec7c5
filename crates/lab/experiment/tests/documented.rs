//! `docs/scenario.md` names every key that the code asks for (a key that nobody knows is answered with those that are allowed), and
//! its default (a scenario that writes it down is the same as one that does not).

use std::path::Path;
use unbloat_experiment::scenario::build;
use unbloat_experiment::scenario::toml::Node;

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
        ("[link.down]".to_owned(), link(format!("{RATE}\nzzz = 1"))),
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
    tables.push((
        "promotion".to_owned(),
        scenario("", "rrc = { promotion = { zzz = 1 } }", "", "", BULK),
    ));
    let own = "[link.clients.client]\nzzz = 1";
    tables.push((
        "[link.clients.NAME]".to_owned(),
        scenario("", "", "", &format!("{RATE}\n{own}"), BULK),
    ));
    let control = format!("{RATE}\ndevice = {{ control = {{ zzz = 1 }} }}");
    tables.push(("control".to_owned(), scenario("", "", "", &control, BULK)));
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
    for name in ["follow", "cake_autorate", "oracle"] {
        let hops = "[[link.down.hop]]\nrate = \"1 Mbit/s\"\n[[link.down.hop]]\nqueue = { kind = \"cake\", rate = \"1 Mbit/s\" }";
        let text = format!("{hops}\n[[flow]]\n{BULK}\n[autorate]\nkind = \"{name}\"\nzzz = 1\n");
        tables.push((format!("autorate {name}"), text));
    }
    for name in unbloat_qdisc::NAMES {
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
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/scenario.md");
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

#[test]
fn a_hop_has_the_keys_of_a_direction_and_its_clients() {
    let hop = format!("[[link.down.hop]]\n{RATE}\nclients = [\"client\"]\nzzz = 1\n");
    let sorted = |text: &str, but: &str| {
        let mut keys = allowed(text);
        keys.retain(|key| key != but);
        keys.sort();
        keys
    };
    let of_hop = sorted(&format!("{hop}[[flow]]\n{BULK}\n"), "clients");
    let of_link = sorted(
        &scenario("", "", &format!("{RATE}\nzzz = 1"), "", BULK),
        "hop",
    );
    assert_eq!(of_hop, of_link);
}

/// Defaults that are told in words, or that are not a value that could be written.
const IN_WORDS: &[&str] = &[
    "none",
    "required",
    "empty",
    "on",
    "name of the app",
    "the link's rate",
    "the device's header",
    "rtt / 20",
    "4 times rate times rtt, at least 4 MiB",
    "8, 16, 32, 64 KiB",
    "0.4 to 6 Mbit/s",
    "0 s; 100 ms with `repeats`",
    "10 ms, longer for many flows or hours",
    "1 s, longer for many flows or days",
];

/// The default as it is written in a scenario.
fn written(default: &str) -> String {
    let without_commas = default.replace(',', "");
    let is_plain = default.starts_with('[')
        || ["true", "false"].contains(&default)
        || without_commas.parse::<f64>().is_ok();
    match default.starts_with('[') {
        true => default.to_owned(),
        false if is_plain => without_commas,
        false => format!("\"{without_commas}\""),
    }
}

#[test]
fn every_default_is_the_one_that_the_document_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/scenario.md");
    let document = std::fs::read_to_string(path).unwrap();
    let tables = tables();
    let built = |text: &str| {
        let experiment = Node::parse(text).and_then(|node| build(&node, &|_| Err(String::new())));
        experiment.map(|experiment| format!("{experiment:?}"))
    };
    let (mut compared, mut wrong) = (0, Vec::new());
    for row in document.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<_> = row
            .split(" | ")
            .map(|cell| cell.trim_matches(['|', ' ']))
            .collect();
        let [table, key, default, _] = cells[..] else {
            panic!("{row}");
        };
        let is_same_as_none = (table, key) == ("`[link.down]`", "`loss`");
        if IN_WORDS.contains(&default) || is_same_as_none {
            continue;
        }
        let (table, key) = (table.trim_matches('`'), key.trim_matches('`'));
        let (_, text) = tables.iter().find(|(name, _)| name == table).expect(row);
        let without = text.replace(", zzz = 1", "").replace("zzz = 1", "");
        // What the scenario says anyway would be said twice.
        let line = format!("\n{key} = ");
        if without.contains(&line) {
            continue;
        }
        let with = text.replace("zzz = 1", &format!("{key} = {}", written(default)));
        compared += 1;
        if built(&with) != built(&without) || built(&with).is_err() {
            let fault = built(&with).err();
            wrong.push(format!(
                "{row} {}",
                fault.map_or(String::new(), |fault| fault.to_string())
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "not so by the code:\n{}",
        wrong.join("\n")
    );
    assert!(compared > 150, "{compared} defaults");
}
