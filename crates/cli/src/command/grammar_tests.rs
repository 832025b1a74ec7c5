//! One name, one meaning, one value syntax: checks all options of all commands against each other.

use super::tree;
use clap::Arg;
use std::collections::BTreeMap;

/// Every value name that a help may show, and its syntax. Options whose words clap lists (`[possible values: …]`) may have others.
const SYNTAXES: &[(&str, &str)] = &[
    ("A", "as RUN, the reference of a comparison"),
    ("ADDRESS", "IP address"),
    ("ADDRESS:PORT", "IP address and port to listen on"),
    (
        "[ADDRESS:]PORT",
        "port on 127.0.0.1, or IP address and port to listen on",
    ),
    ("APP", "one of the applications in the help"),
    ("B", "as RUN, compared with A"),
    ("BUFFER", "packets or SIZE, as a list or a range"),
    ("BYTES", "whole number of bytes, may be negative"),
    ("CAMPAIGN", "campaign file, TOML"),
    ("CAPTURE", "capture file, pattern, or -"),
    ("CGROUP", "control group v2, as in /proc/PID/cgroup"),
    ("CIDR", "network, such as 10.0.0.0/8"),
    ("COMMAND", "program and arguments"),
    ("FILE", "path of a file"),
    ("FIGURE", "figure or table of a paper"),
    ("FINGERPRINT", "SHA-256, 64 hexadecimal digits"),
    ("FLOW_ID", "flow_id of the table flows"),
    ("FOLDER", "path of a folder to create"),
    ("FORMAT", "table, jsonl or csv"),
    ("HOST", "name or address"),
    ("HOST: COMMAND", "name in a scenario, and a shell command"),
    ("HOST:PORT", "name or address, and port"),
    ("HOST|URL", "server of a live test"),
    ("INTERFACE", "network interface"),
    ("KEY=VALUE", "key of a TOML file, and its value"),
    ("N", "whole number"),
    ("NAME", "name that the kernel knows"),
    ("NUMBER", "decimal number"),
    ("PAPER", "one of the papers, all or list"),
    ("PAPERS", "folder of papers"),
    ("PERCENT", "whole number of percent"),
    (
        "PLACE",
        "folder that several machines share, or an address as s3://bucket/folder",
    ),
    ("PORT", "TCP or UDP port"),
    (
        "QUEUE",
        "queue discipline with keys, such as codel:target=5ms",
    ),
    ("RATE", "number with unit, such as 20 Mbit/s"),
    ("RATE|learn", "RATE, or the word learn"),
    ("RESULT", "SUBJECT.METRIC of an experiment"),
    ("RUN", "existing run: folder, or name in the folder of runs"),
    (
        "RUN|CAPTURE",
        "existing run or campaign folder, or capture file",
    ),
    ("SCENARIO", "scenario file, TOML"),
    ("SCHEME", "one of the grading schemes in the help"),
    ("SIZE", "number with unit, such as 1 MB or 64 KiB"),
    ("SPANS", "four times, comma-separated"),
    ("SPAN", "number with unit, such as 90 s or 5 min"),
    ("STATISTIC", "mean, or a percentile such as p95"),
    ("TABLE", "table of a run"),
    ("TOKEN", "secret text"),
    ("TOLERANCE", "RESULT [SIGN] AMOUNT [or AMOUNT]"),
    ("USER", "user of this host"),
    ("[USER@]HOST", "host reached over ssh"),
];

/// Options whose help may begin differently in different commands, with the reason.
const HELP_MAY_DIFFER: &[(&str, &str)] = &[
    (
        "with",
        "an application beside a load, a run beside a figure",
    ),
    (
        "interface",
        "always a network interface, but in different roles",
    ),
    (
        "quiet",
        "`lab shell` shows no progress, but a summary of the path",
    ),
    (
        "token",
        "a client presents one token, a server accepts several",
    ),
    (
        "token-file",
        "a client presents one token, a server accepts several",
    ),
];

/// The options of all commands, with the command they belong to.
fn options() -> Vec<(String, Arg)> {
    arguments()
        .into_iter()
        .filter(|(_, arg)| !arg.is_positional())
        .collect()
}

fn arguments() -> Vec<(String, Arg)> {
    fn collect(path: &str, command: &clap::Command, all: &mut Vec<(String, Arg)>) {
        let own = command.get_arguments();
        all.extend(own.map(|arg| (path.to_owned(), arg.clone())));
        for sub in command.get_subcommands() {
            collect(&format!("{path} {}", sub.get_name()), sub, all);
        }
    }
    let mut all = Vec::new();
    collect("unbloat", &tree(), &mut all);
    assert!(all.len() > 200, "the tree was not walked");
    all
}

/// The uses of each option, by its long name.
fn by_name() -> BTreeMap<String, Vec<(String, Arg)>> {
    let mut names: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (command, arg) in options() {
        let name = arg.get_long().map(str::to_owned);
        let name = name.unwrap_or_else(|| panic!("{command}: {} has no long name", arg.get_id()));
        names.entry(name).or_default().push((command, arg));
    }
    names
}

fn value_names(arg: &Arg) -> Vec<String> {
    if !arg.get_action().takes_values() {
        return Vec::new();
    }
    match arg.get_value_names() {
        Some(names) => names.iter().map(ToString::to_string).collect(),
        None => vec![arg.get_id().to_string()],
    }
}

fn help(arg: &Arg) -> String {
    arg.get_help().map_or(String::new(), ToString::to_string)
}

/// Up to the first detail, default or second sentence.
fn first_sentence(help: &str) -> &str {
    let ends = [". ", ": ", ", ", " [", " ("];
    let end = ends.iter().filter_map(|end| help.find(end)).min();
    &help[..end.unwrap_or(help.len())]
}

/// Fails with all faults at once.
fn refuse(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

/// Where the uses of an option disagree in what `of` says about them.
fn disagreements(what: &str, of: impl Fn(&Arg) -> String) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, uses) in by_name() {
        let mut said: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (command, arg) in &uses {
            said.entry(of(arg)).or_default().push(command);
        }
        if said.len() > 1 {
            faults.push(format!("--{name} has several {what}: {said:#?}"));
        }
    }
    faults
}

#[test]
fn an_option_takes_the_same_value_in_all_commands() {
    let mut faults = disagreements("values", |arg| format!("{:?}", value_names(arg)));
    // What is set beside a load is an application, beside a figure a run.
    faults.retain(|fault| !fault.starts_with("--with "));
    refuse(&faults);
}

#[test]
fn an_option_has_the_same_short_letter_in_all_commands() {
    refuse(&disagreements("short letters", |arg| {
        format!("{:?}", arg.get_short())
    }));
}

#[test]
fn an_option_means_the_same_in_all_commands() {
    let mut faults = disagreements("meanings", |arg| first_sentence(&help(arg)).to_owned());
    for (name, reason) in HELP_MAY_DIFFER {
        let start = format!("--{name} ");
        let before = faults.len();
        faults.retain(|fault| !fault.starts_with(&start));
        assert!(
            faults.len() < before,
            "no longer differs: {name} ({reason})"
        );
    }
    refuse(&faults);
}

#[test]
fn a_short_letter_belongs_to_one_option() {
    let mut letters: BTreeMap<char, Vec<String>> = BTreeMap::new();
    for (name, uses) in by_name() {
        if let Some(letter) = uses.iter().find_map(|(_, arg)| arg.get_short()) {
            letters.entry(letter).or_default().push(name);
        }
    }
    letters.retain(|_, names| names.len() > 1);
    assert!(letters.is_empty(), "{letters:?}");
}

#[test]
fn every_value_has_a_known_syntax() {
    let mut faults = Vec::new();
    for (command, arg) in arguments() {
        let is_listed = !arg.get_possible_values().is_empty();
        for name in value_names(&arg) {
            let is_known = SYNTAXES.iter().any(|(known, _)| *known == name);
            if !is_known && !is_listed {
                faults.push(format!("{command} {}: unknown value {name}", arg.get_id()));
            }
        }
    }
    let used: Vec<String> = arguments()
        .iter()
        .flat_map(|(_, arg)| value_names(arg))
        .collect();
    for (name, _) in SYNTAXES {
        if !used.iter().any(|used| used == name) {
            faults.push(format!("{name} is not used"));
        }
    }
    refuse(&faults);
}

/// Ranges differ, but the type and so the syntax do not.
#[test]
fn quantities_have_one_parser() {
    for quantity in ["SPAN", "RATE", "SIZE"] {
        let mut types: Vec<_> = arguments()
            .iter()
            .filter(|(_, arg)| value_names(arg) == [quantity])
            .map(|(_, arg)| arg.get_value_parser().type_id())
            .collect();
        assert!(types.len() > 3, "{quantity}");
        types.dedup();
        assert_eq!(types.len(), 1, "{quantity}: {types:?}");
    }
}

#[test]
fn every_argument_and_command_has_help() {
    let without = |(_, arg): &(String, Arg)| help(arg).is_empty();
    let silent: Vec<String> = arguments()
        .iter()
        .filter(|one| without(one))
        .map(|(command, arg)| format!("{command} {}", arg.get_id()))
        .collect();
    refuse(&silent);
}

#[test]
fn names_are_lower_case_words() {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let odd: Vec<String> = by_name()
        .into_keys()
        .filter(|name| !name.chars().all(is_plain))
        .collect();
    refuse(&odd);
}

/// What `unbloat schema` says of the documents whose schemas it prints.
fn documents() -> Vec<String> {
    let all = arguments()
        .into_iter()
        .filter(|(path, _)| path.ends_with("schema"));
    let values = all.flat_map(|(_, arg)| arg.get_possible_values());
    values
        .filter_map(|value| Some(value.get_help()?.to_string()))
        .collect()
}

#[test]
#[cfg(feature = "full")]
fn every_json_document_has_a_schema() {
    let documents = documents();
    let with_json: Vec<String> = options()
        .into_iter()
        .filter(|(_, arg)| arg.get_long() == Some("json"))
        .map(|(path, _)| format!("{path} --json"))
        .collect();
    assert!(with_json.len() > 10, "{with_json:?}");
    let lacking: Vec<_> = with_json
        .iter()
        .filter(|command| !documents.iter().any(|text| text.contains(*command)))
        .collect();
    assert!(lacking.is_empty(), "without a schema: {lacking:?}");
}
