//! Converts the options of a shell to a path, by way of a scenario's keys.

use super::{Args, ShellError};
use crate::experiment::read;
use std::path::Path;
use unbloat_scenario::text::{Node, Origin, Value};
use unbloat_scenario::{BothWays, path};
use unbloat_units::Rate;

/// The path, and its definition as keys of a scenario.
pub fn of(args: &Args) -> Result<(BothWays, Node), ShellError> {
    let mut root = Node::table(Origin::Set);
    let up_queue = args.up_queue.as_ref().or(args.queue.as_ref());
    let sides = [
        (
            "link.down",
            &args.down,
            &args.rate_down,
            args.queue.as_ref(),
        ),
        ("link.up", &args.up, &args.rate_up, up_queue),
    ];
    for (link, trace, rate, queue) in sides {
        let is_limited = trace.is_some() || rate.is_some();
        let values = [
            ("delay", args.delay.clone()),
            (
                "trace",
                trace.as_ref().map(|path| path.display().to_string()),
            ),
            ("rate", rate.as_deref().map(rate_of)),
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
        return Err(ShellError::OnlyLink);
    }
    let files = |name: &str| read(Path::new(name)).map_err(|error| error.to_string());
    Ok((path(&links, &files)?, links))
}

fn put(root: &mut Node, assignment: &str) -> Result<(), ShellError> {
    let (key, node) = Node::assignment(assignment)?;
    Ok(root.put(key, node)?)
}

/// Also accepts rates as tc writes them, for example 20mbit.
fn rate_of(text: &str) -> String {
    let units = [("kbit", "kbit/s"), ("mbit", "Mbit/s"), ("gbit", "Gbit/s")];
    let lower = text.to_ascii_lowercase();
    let found = units
        .iter()
        .find_map(|(tc, unit)| Some(format!("{} {unit}", lower.strip_suffix(tc)?.trim())));
    match found {
        Some(rate) if text.parse::<Rate>().is_err() => rate,
        _ => text.to_owned(),
    }
}

/// Parses a queue such as `codel`, `droptail:1MB` or `fq_codel:limit=1000 packets,target=10ms`: a kind, then a colon and its keys as
/// in scenarios. A value without a key is the limit.
fn queue_of(text: &str) -> Result<Node, ShellError> {
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
            shell("--rate-down 20mbit --rate-up=5Mbit/s --delay 20ms --queue droptail:1MB --up-queue codel").unwrap(),
            "{down={delay=20ms, queue={kind=droptail, limit=1MB}, rate=20 Mbit/s}, \
             up={delay=20ms, queue={kind=codel}, rate=5Mbit/s}}"
        );
        assert_eq!(
            shell("--rate-down 1gbit --queue fq_codel:target=10ms,limit=500packets --set link.up.jitter=5ms").unwrap(),
            "{down={queue={kind=fq_codel, limit=500packets, target=10ms}, rate=1 Gbit/s}, up={jitter=5ms}}"
        );
    }

    #[test]
    fn faults_name_the_key() {
        let fault = shell("--rate-down 20mbit --queue droptial:1MB").unwrap_err();
        assert!(
            fault.contains("link.down.queue") && fault.contains("droptail"),
            "{fault}"
        );
        let refused = shell("--set flow.cc=reno").unwrap_err();
        assert!(refused.contains("link."), "{refused}");
    }
}
