use super::*;
use serde::Deserialize;
use unbloat_units::{Delta, Rate};

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Link {
    rate: Rate,
    delay: Option<Delta>,
    #[serde(default)]
    loss: f64,
    #[serde(default)]
    mode: Mode,
}

#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Duplex,
    Shared,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Links {
    link: Vec<Link>,
}

const GOOD: &str = "\n[[link]]\nrate = \"20 Mbit/s\"\ndelay = \"40 ms\"\n\n[[link]]\nrate = \"1 Mbit/s\"\nloss = 1\nmode = \"shared\"\n";

fn links(text: &str) -> Result<Links, Error> {
    read(&Node::parse(text)?, "")
}

#[test]
fn values_are_read_with_their_units() {
    let links = links(GOOD).unwrap().link;
    assert_eq!(
        (links[0].rate, links[0].delay),
        (Rate::mbps(20), Some(Delta::ms(40)))
    );
    assert_eq!((links[1].loss, &links[1].mode), (1.0, &Mode::Shared));
}

#[test]
fn a_fault_names_line_key_and_what_is_allowed() {
    for (from, to, message) in [
        (
            "delay",
            "dealy",
            "line 4: link.0.dealy: unknown key \"dealy\"; did you mean \"delay\"? (allowed: delay, loss, mode, rate)",
        ),
        (
            "\"shared\"",
            "\"sharde\"",
            "line 9: link.1.mode: unknown value \"sharde\"; did you mean \"shared\"? (allowed: duplex, shared)",
        ),
        (
            "\"40 ms\"",
            "40",
            "line 4: link.0.delay: invalid type: integer `40`, expected a text with a unit like \"10 ms\"",
        ),
        (
            "rate = \"1 Mbit/s\"\n",
            "",
            "line 6: link.1: \"rate\" is missing; it has no default",
        ),
        (
            "loss = 1",
            "loss = ",
            "line 8: string values must be quoted, expected literal string",
        ),
    ] {
        let error = links(&GOOD.replacen(from, to, 1)).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn a_unit_that_is_none_is_answered_with_those_that_are() {
    let error = links(&GOOD.replace("20 Mbit/s", "20 MB/s"))
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("line 3: link.0.rate: \"20 MB/s\" is not a number with a unit"),
        "{error}"
    );
    assert!(error.contains("Mbit/s"), "{error}");
}

#[test]
fn an_override_replaces_a_value_and_faults_in_it_say_so() {
    let mut node = Node::parse(GOOD).unwrap();
    let set = |scenario: &mut Node, text: &str| {
        let (key, value) = Node::assignment(text)?;
        scenario.put(key, value)
    };
    set(&mut node, "link.1.rate = 5 Mbit/s").unwrap();
    set(&mut node, "link.0.loss=0.5").unwrap();
    let links: Links = read(&node, "").unwrap();
    assert_eq!(
        (links.link[1].rate, links.link[0].loss),
        (Rate::mbps(5), 0.5)
    );

    set(&mut node, "link.*.delay=7 ms").unwrap();
    let everywhere: Links = read(&node, "").unwrap();
    assert!(
        everywhere
            .link
            .iter()
            .all(|link| link.delay == Some(Delta::ms(7)))
    );

    set(&mut node, "link.0.delya=1 ms").unwrap();
    let error = read::<Links>(&node, "").unwrap_err().to_string();
    assert!(
        error.starts_with("--set: link.0.delya: unknown key \"delya\"; did you mean \"delay\"?"),
        "{error}"
    );
    let outside = set(&mut node, "link.7.rate=1 Mbit/s")
        .unwrap_err()
        .to_string();
    assert!(
        outside.contains("not an index of its 2 entries"),
        "{outside}"
    );
}

#[test]
fn deep_nesting_is_refused() {
    let deep = format!("a = {}1{}", "[".repeat(60), "]".repeat(60));
    assert!(Node::parse(&deep).is_err());
}

#[test]
fn every_value_is_a_leaf_under_the_path_that_sets_it() {
    let text = "[link.down]\nqueue = { kind = \"droptail\", limit = \"1 MB\" }\n[[flow]]\nname = \"a\"\nladder = [1, 2]";
    let mut scenario = Node::parse(text).unwrap();
    let leaves = scenario.leaves();
    let expected = [
        ("flow.0.ladder", "[1, 2]"),
        ("flow.0.name", "a"),
        ("link.down.queue.kind", "droptail"),
        ("link.down.queue.limit", "1 MB"),
    ];
    assert_eq!(leaves, expected.map(|(k, v)| (k.to_owned(), v.to_owned())));
    for (path, _) in &leaves {
        let put = scenario.put(path, Node::text(Origin::Set, "new"));
        assert!(put.is_ok() && scenario.get(path).unwrap().as_text() == Some("new"));
    }
}
