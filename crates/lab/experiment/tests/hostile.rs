//! Damaged scenarios are built or refused with one message, never with a panic and never for long.

use proptest::prelude::*;
use std::path::Path;
use std::time::{Duration, Instant};
use unbloat_experiment::scenario::toml::{Error, Node};
use unbloat_experiment::scenario::{Sweep, build, score};

/// The example scenarios of this repository.
fn examples() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    files.sort();
    let texts = files.iter().map(std::fs::read_to_string);
    texts.collect::<Result<_, _>>().unwrap()
}

/// As `unbloat sim` does it, with the first point of the sweep.
fn attempt(text: &str) -> Result<(), Error> {
    let mut scenario = Node::parse(text)?;
    score::take(&mut scenario)?;
    let sweep = Sweep::take(&mut scenario)?;
    let point = sweep.point(0).apply(&scenario)?;
    build(&point, &|_| Ok(b"1\n2\n5\n".to_vec())).map(|_| ())
}

/// What people and machines put where something else belongs.
const WORDS: &[&str] = &[
    "0",
    "-1",
    "1e308",
    "nan",
    "inf",
    "9223372036854775807",
    "\"0 s\"",
    "\"-5 ms\"",
    "\"1e30 s\"",
    "\"0 bit/s\"",
    "\"1e30 Mbit/s\"",
    "\"99999999 BDP\"",
    "\"4294967295 packets\"",
    "\"\"",
    "[]",
    "{}",
    "true",
    "[[1]]",
    "\"codel\"",
    "{ kind = 3 }",
];

#[test]
fn the_examples_themselves_are_sound() {
    for text in examples() {
        attempt(&text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_value_replaced_by_nonsense_never_panics_or_hangs(
        example in any::<prop::sample::Index>(),
        line in any::<prop::sample::Index>(),
        word in prop::sample::select(WORDS),
    ) {
        let examples = examples();
        let text = example.get(&examples);
        let lines: Vec<_> = text.lines().collect();
        let at = line.index(lines.len());
        let changed = lines.iter().enumerate().map(|(index, one)| match one.rsplit_once('=') {
            Some((key, _)) if index == at => format!("{key}= {word}\n"),
            _ => format!("{one}\n"),
        });
        check(&changed.collect::<String>());
    }

    #[test]
    fn bytes_cut_out_or_changed_never_panic_or_hang(
        example in any::<prop::sample::Index>(),
        from in any::<prop::sample::Index>(),
        len in 0_usize..40,
        with in "[ -~\n]{0,8}",
    ) {
        let examples = examples();
        let text = example.get(&examples);
        let from = from.index(text.len());
        let to = (from + len).min(text.len());
        check(&format!("{}{with}{}", &text[..from], &text[to..]));
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "what is measured is that a build does not take long"
)]
fn check(text: &str) {
    let begin = Instant::now();
    if let Err(error) = attempt(text) {
        let message = &error.message;
        assert!(!message.is_empty() && !message.contains('\n'), "{error}");
    }
    assert!(begin.elapsed() < Duration::from_secs(2), "{text}");
}
