//! Converts the options of a shell to a path, by way of a scenario's keys.

use super::Args;
use crate::exit::Failure;
use std::path::Path;
use unbloat_api::experiment::read;
use unbloat_experiment::scenario::toml::{Error, Node, Origin, Value};
use unbloat_experiment::scenario::{BothWays, path};
use unbloat_units::{Delta, Rate};

/// The path, and its definition as keys of a scenario.
pub fn of(args: &Args) -> Result<(BothWays, Node), Failure> {
    let mut root = Node::table(Origin::Set);
    let up_queue = args.queue_up.as_ref().or(args.queue.as_ref());
    let sides = [
        (
            "link.down",
            &args.trace_down,
            args.rate_down,
            args.queue.as_ref(),
        ),
        ("link.up", &args.trace_up, args.rate_up, up_queue),
    ];
    for (link, trace, rate, queue) in sides {
        let is_limited = trace.is_some() || rate.is_some();
        let values = [
            ("delay", args.delay.map(delay_text)),
            (
                "trace",
                trace.as_ref().map(|path| path.display().to_string()),
            ),
            ("rate", rate.map(rate_text)),
            ("loss", args.loss.map(|loss| loss.to_string())),
        ];
        for (key, value) in values {
            if let Some(value) = value {
                put(&mut root, &format!("{link}.{key}={value}"))?;
            }
        }
        if let Some(queue) = queue.filter(|_| is_limited) {
            root.put(&format!("{link}.queue"), queue_of(queue)?)?;
        }
    }
    for assignment in &args.set {
        put(&mut root, assignment)?;
    }
    let links = root
        .take("link")
        .unwrap_or_else(|| Node::table(Origin::Set));
    if !matches!(&root.value, Value::Table(rest) if rest.is_empty()) {
        return Err("--set accepts only keys of the path: link.down.* and link.up.*".into());
    }
    let files = |name: &str| read(Path::new(name)).map_err(|error| error.to_string());
    let both = path(&links, &files).map_err(|error| as_typed(args, error))?;
    Ok((both, links))
}

/// A fault of a trace, with its option in place of the key.
fn as_typed(args: &Args, error: Error) -> Error {
    let option = match error.key.as_str() {
        "link.down.trace" if args.trace_down.is_some() => "--trace-down",
        "link.up.trace" if args.trace_up.is_some() => "--trace-up",
        _ => return error,
    };
    Error::new(Origin::Nowhere, option, error.message)
}

fn put(root: &mut Node, assignment: &str) -> Result<(), Failure> {
    let (key, node) = Node::assignment(assignment)?;
    Ok(root.put(key, node)?)
}

fn delay_text(delay: Delta) -> String {
    exact(
        delay.as_ns(),
        &[("ms", 1_000_000), ("us", 1_000), ("ns", 1)],
    )
}

fn rate_text(rate: Rate) -> String {
    let units = [("Mbit/s", 1_000_000), ("kbit/s", 1_000), ("bit/s", 1)];
    exact(i128::from(rate.as_bps()), &units)
}

/// In the largest unit of which it is a whole number; the last unit is 1.
fn exact(value: impl Into<i128>, units: &[(&str, i128)]) -> String {
    let value = value.into();
    let found = units.iter().find(|(_, size)| value % size == 0);
    let (unit, size) = found.expect("the last unit is 1");
    format!("{} {unit}", value / size)
}

/// Parses a queue such as `codel`, `droptail:1MB` or `fq_codel:limit=1000 packets,target=10ms`: a kind, then a colon and its keys as
/// in scenarios. A value without a key is the limit.
fn queue_of(text: &str) -> Result<Node, Failure> {
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    let mut queue = Node::table(Origin::Set);
    queue.put("kind", Node::text(Origin::Set, kind.trim()))?;
    for word in rest.split(',').filter(|word| !word.trim().is_empty()) {
        let assignment = match word.contains('=') {
            true => word.to_owned(),
            false => format!("limit={word}"),
        };
        put(&mut queue, &assignment)?;
    }
    Ok(queue)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Wrapped {
        #[command(flatten)]
        args: Args,
    }

    fn shell(options: &str) -> Result<String, String> {
        let words = ["shell"].into_iter().chain(options.split_whitespace());
        let args = Wrapped::parse_from(words.chain(["--", "true"])).args;
        let (_, links) = of(&args).map_err(|error| error.to_string())?;
        Ok(links.to_string())
    }

    #[test]
    fn options_are_keys_of_a_scenario() {
        assert_eq!(
            shell("--rate-down 20Mbit/s --rate-up=1.5Mbit/s --delay 20ms --queue droptail:1MB --queue-up codel").unwrap(),
            "{down={delay=20 ms, queue={kind=droptail, limit=1MB}, rate=20 Mbit/s}, \
             up={delay=20 ms, queue={kind=codel}, rate=1500 kbit/s}}"
        );
        assert_eq!(
            shell("--rate-down 1Gbit/s --queue fq_codel:target=10ms,limit=500packets --set link.up.jitter=5ms").unwrap(),
            "{down={queue={kind=fq_codel, limit=500packets, target=10ms}, rate=1000 Mbit/s}, up={jitter=5ms}}"
        );
    }

    #[test]
    fn faults_name_the_key() {
        let fault = shell("--rate-down 20Mbit/s --queue droptial:1MB").unwrap_err();
        assert!(
            fault.contains("link.down.queue") && fault.contains("droptail"),
            "{fault}"
        );
        let no_trace = shell("--trace-up /nowhere --rate-down 1Mbit/s").unwrap_err();
        assert!(no_trace.starts_with("--trace-up: "), "{no_trace}");
        let refused = shell("--set flow.cc=reno").unwrap_err();
        assert!(refused.contains("link."), "{refused}");
    }
}
