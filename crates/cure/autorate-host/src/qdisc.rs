//! The kernel's shapers, as `tc` knows them.

use crate::error::SteerError;
use serde_json::Value;
use std::os::unix::process::CommandExt;
use std::process::Command;
use tracing::debug;
use unbloat_undo::{Class, Discipline, Step, UndoError};
use unbloat_units::Rate;

/// What a command that changes a shaper is given: what says that the change is still being made, should this process be killed meanwhile.
pub type Lend<'a> = &'a dyn Fn(&mut Command);

/// A shaper whose rate can be changed, and the rate that it had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shaper {
    device: String,
    kind: Kind,
    found: Option<Rate>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Cake,
    /// The class by its number, and its queue.
    Htb {
        class: String,
        queue: Option<Fifo>,
    },
}

/// A shaper as the kernel tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Root(Discipline),
    Class(Class),
}

/// A FIFO of bytes below the class. Its limit follows the rate, so that it holds packets for as long as before.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fifo {
    handle: String,
    bytes: u64,
}

/// No FIFO is made shorter than this by us.
const SHORTEST_BYTES: u64 = 15_000;

impl Shaper {
    /// The root discipline of a device: cake, or htb with a class at its top.
    pub fn of(device: &str) -> Result<Shaper, SteerError> {
        let listed = tc(&["-j", "qdisc", "show", "dev", device])?;
        let classes = || tc(&["-j", "class", "show", "dev", device]);
        read(device, &listed, classes)
    }

    pub fn device(&self) -> &str {
        &self.device
    }

    /// Whether it is a tree of classes.
    pub fn has_classes(&self) -> bool {
        matches!(self.kind, Kind::Htb { .. })
    }

    /// What the kernel has of it now, in its own words; none if it is gone.
    pub(crate) fn state(&self) -> Result<Option<State>, UndoError> {
        match &self.kind {
            Kind::Cake => {
                let (_, all) = unbloat_undo::outgoing(&self.device)?;
                let root = all.into_iter().find(Discipline::is_root);
                Ok(root.map(State::Root))
            }
            Kind::Htb { class, .. } => {
                let Step::Classes { before, .. } = Step::classes(&self.device)? else {
                    return Ok(None);
                };
                let own = before
                    .into_iter()
                    .find(|one| number(class) == Some(one.handle));
                Ok(own.map(State::Class))
            }
        }
    }

    pub fn set(&self, rate: Rate, lend: Lend) -> Result<(), SteerError> {
        self.tell(Some(rate), lend)
    }

    /// Puts the rate back that it had.
    pub fn restore(&self, lend: Lend) -> Result<(), SteerError> {
        self.tell(self.found, lend)
    }

    fn tell(&self, rate: Option<Rate>, lend: Lend) -> Result<(), SteerError> {
        for words in [Some(self.words(rate)), self.queue_words(rate)]
            .iter()
            .flatten()
        {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            run(&words, lend)?;
        }
        Ok(())
    }

    pub(crate) fn queue_words(&self, rate: Option<Rate>) -> Option<Vec<String>> {
        let Kind::Htb {
            class,
            queue: Some(queue),
        } = &self.kind
        else {
            return None;
        };
        let share = rate?.as_bps_f64() / self.found?.as_bps_f64().max(1.0);
        let most = f64::from(u32::MAX / 2);
        let bytes = (queue.bytes as f64 * share).min(most) as u64;
        let bytes = bytes.max(SHORTEST_BYTES.min(queue.bytes));
        let words = format!(
            "qdisc change dev DEVICE parent {class} handle {} bfifo limit {bytes}",
            queue.handle
        );
        let words = words.split(' ');
        Some(
            words
                .map(|word| word.replace("DEVICE", &self.device))
                .collect(),
        )
    }

    pub(crate) fn words(&self, rate: Option<Rate>) -> Vec<String> {
        let text = rate.map_or("unlimited".to_owned(), |rate| {
            format!("{}bit", rate.as_bps())
        });
        let words = match &self.kind {
            Kind::Cake => vec![
                "qdisc",
                "change",
                "root",
                "dev",
                &self.device,
                "cake",
                "bandwidth",
                &text,
            ],
            Kind::Htb { class, .. } => vec![
                "class",
                "change",
                "dev",
                &self.device,
                "classid",
                class,
                "htb",
                "rate",
                &text,
                "ceil",
                &text,
            ],
        };
        words.into_iter().map(str::to_owned).collect()
    }
}

/// `tc` says rates in bytes per second in JSON.
fn rate_of(value: &Value) -> Option<Rate> {
    value
        .as_u64()
        .map(|bytes| Rate::bps(bytes.saturating_mul(8)))
}

/// As `tc` tells people, in steps of 1,000: `9500Kbit`.
fn rate_of_text(text: &str) -> Option<Rate> {
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic())?);
    let factor = match unit {
        "bit" => 1.0,
        "Kbit" => 1e3,
        "Mbit" => 1e6,
        "Gbit" => 1e9,
        _ => return None,
    };
    Some(Rate::from_bps_f64(number.parse::<f64>().ok()? * factor))
}

pub(crate) fn read(
    device: &str,
    listed: &str,
    classes: impl FnOnce() -> Result<String, SteerError>,
) -> Result<Shaper, SteerError> {
    let root = entries(listed)
        .into_iter()
        .find(|entry| entry["root"] == true);
    let kind = root
        .as_ref()
        .and_then(|root| root["kind"].as_str())
        .unwrap_or("nothing");
    let shaper = |of, found| Shaper {
        device: device.to_owned(),
        kind: of,
        found,
    };
    let none = || SteerError::NoShaper {
        device: device.to_owned(),
        found: kind.to_owned(),
    };
    match (kind, &root) {
        ("cake", Some(root)) => Ok(shaper(Kind::Cake, rate_of(&root["options"]["bandwidth"]))),
        ("htb", _) => {
            let (class, found) = top_class(&classes()?).ok_or_else(none)?;
            let queue = fifo(listed, &class);
            Ok(shaper(Kind::Htb { class, queue }, found))
        }
        _ => Err(none()),
    }
}

/// Number and rate of the class at the top. Older versions of tc (6.1) tell of classes in words, whatever is asked for.
fn top_class(listed: &str) -> Option<(String, Option<Rate>)> {
    let list = entries(listed);
    if let Some(top) = list.iter().find(|class| class["root"] == true) {
        return Some((handle(&top["handle"])?, rate_of(&top["rate"])));
    }
    let lines = listed
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>());
    let is_top = |words: &Vec<&str>| {
        words.len() > 3 && words[1] == "htb" && words[3] == "root" && is_handle(words[2])
    };
    let mut tops = lines.filter(is_top);
    let top = tops.next()?;
    let mut after = top.iter().skip_while(|word| **word != "rate").skip(1);
    let rate = after.next().and_then(|text| rate_of_text(text));
    Some((top[2].to_owned(), rate))
}

fn fifo(listed: &str, class: &str) -> Option<Fifo> {
    let all = entries(listed);
    let found = all
        .iter()
        .find(|entry| entry["parent"] == class && entry["kind"] == "bfifo")?;
    let limit = &found["options"]["limit"];
    Some(Fifo {
        handle: handle(&found["handle"])?,
        // Newer ones say a number, older ones a text with a unit.
        bytes: limit
            .as_u64()
            .or_else(|| limit.as_str()?.trim_end_matches('b').parse().ok())?,
    })
}

fn handle(value: &Value) -> Option<String> {
    let text = value.as_str().filter(|text| is_handle(text))?;
    Some(text.to_owned())
}

/// `1:`, `1:10`: it becomes one word of a command.
fn is_handle(text: &str) -> bool {
    let is_fit = |byte: u8| byte.is_ascii_hexdigit() || byte == b':';
    text.contains(':') && text.len() < 16 && text.bytes().all(is_fit)
}

/// `1:10` as the kernel has it.
fn number(handle: &str) -> Option<u32> {
    let (major, minor) = handle.split_once(':')?;
    let half = |digits: &str| match digits {
        "" => Some(0),
        some => u16::from_str_radix(some, 16).ok(),
    };
    Some(u32::from(half(major)?) << 16 | u32::from(half(minor)?))
}

/// A list of JSON; what is none is empty.
fn entries(text: &str) -> Vec<Value> {
    serde_json::from_str(text).unwrap_or_default()
}

fn tc(arguments: &[&str]) -> Result<String, SteerError> {
    run(arguments, &|_| {})
}

fn run(arguments: &[&str], lend: Lend) -> Result<String, SteerError> {
    let mut command = Command::new("tc");
    // Ctrl-C is for this process, which lets the change be made and then undoes it.
    lend(command.args(arguments).process_group(0));
    let output = command.output().map_err(SteerError::NoTc)?;
    debug!(?command, code = output.status.code(), "command");
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(SteerError::Tc {
        arguments: arguments.join(" "),
        said: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_classes() -> Result<String, SteerError> {
        Ok("[]".to_owned())
    }

    #[test]
    fn a_cake_is_told_its_bandwidth_in_bits_and_found_in_bytes() {
        let listed =
            r#"[{"kind":"cake","handle":"8001:","root":true,"options":{"bandwidth":2500000}}]"#;
        let shaper = read("eth0", listed, no_classes).unwrap();
        assert_eq!(shaper.found, Some(Rate::mbps(20)));
        assert_eq!(
            shaper.words(Some(Rate::mbps(7))).join(" "),
            "qdisc change root dev eth0 cake bandwidth 7000000bit"
        );
        let free = r#"[{"kind":"cake","root":true,"options":{"bandwidth":"unlimited"}}]"#;
        let free = read("eth0", free, no_classes).unwrap();
        assert!(free.words(free.found).ends_with(&["unlimited".to_owned()]));
    }

    #[test]
    fn handles_are_hexadecimal() {
        assert_eq!(number("756e:1"), Some(0x756e_0001));
        assert_eq!(number("8001:"), Some(0x8001_0000));
        assert_eq!(number("12345:1"), None);
    }

    #[test]
    fn an_htb_is_told_by_its_top_class() {
        let listed = r#"[{"kind":"htb","handle":"1:","root":true,"options":{}}]"#;
        let classes = || {
            Ok(
                r#"[{"class":"htb","handle":"1:1","root":true,"rate":1250000,"ceil":1250000}]"#
                    .to_owned(),
            )
        };
        let shaper = read("ifb0", listed, classes).unwrap();
        assert_eq!(shaper.found, Some(Rate::mbps(10)));
        let words = shaper.words(Some(Rate::mbps(1))).join(" ");
        assert_eq!(
            words,
            "class change dev ifb0 classid 1:1 htb rate 1000000bit ceil 1000000bit"
        );
    }

    #[test]
    fn classes_are_read_in_the_words_of_an_older_tc_too() {
        let listed = r#"[{"kind":"htb","handle":"756e:","root":true,"options":{}}]"#;
        let classes = || {
            Ok("class htb 756e:1 root leaf 81b7: prio 0 rate 19Mbit ceil 19Mbit burst 1596b cburst 1596b \n".to_owned())
        };
        let shaper = read("ifb0", listed, classes).unwrap();
        assert_eq!(shaper.found, Some(Rate::mbps(19)));
        assert!(
            shaper
                .words(Some(Rate::mbps(1)))
                .contains(&"756e:1".to_owned())
        );
        assert_eq!(top_class("class htb 1:10 parent 1:1 rate 1Mbit"), None);
    }

    #[test]
    fn a_fifo_below_it_holds_packets_for_as_long_at_any_rate() {
        let listed = r#"[{"kind":"htb","handle":"1:","root":true,"options":{}},
            {"kind":"bfifo","handle":"110:","parent":"1:1","options":{"limit":50000}}]"#;
        let classes =
            || Ok(r#"[{"class":"htb","handle":"1:1","root":true,"rate":2500000}]"#.to_owned());
        let shaper = read("ifb0", listed, classes).unwrap();
        let words = |rate| shaper.queue_words(Some(rate)).unwrap().join(" ");
        let begin = "qdisc change dev ifb0 parent 1:1 handle 110: bfifo limit";
        assert_eq!(words(Rate::mbps(10)), format!("{begin} 25000"));
        assert_eq!(words(Rate::mbps(1)), format!("{begin} 15000"));
    }

    #[test]
    fn anything_else_is_no_shaper_and_said_so() {
        for (listed, found) in [
            ("[]", "nothing"),
            ("junk", "nothing"),
            (r#"[{"kind":"noqueue","root":true}]"#, "noqueue"),
            (r#"[{"kind":"htb","root":true}]"#, "htb"),
        ] {
            let refused = read("eth0", listed, no_classes).unwrap_err();
            assert!(
                matches!(&refused, SteerError::NoShaper { found: what, .. } if what == found),
                "{refused}"
            );
        }
    }
}
