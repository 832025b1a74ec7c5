//! The kernel's shapers, as `tc` knows them.

use crate::error::SteerError;
use serde_json::Value;
use std::process::Command;
use unbloat_units::Rate;

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
    /// The class by its number.
    Htb(String),
}

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

    pub fn set(&self, rate: Rate) -> Result<(), SteerError> {
        let words = self.words(Some(rate));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        tc(&words).map(drop)
    }

    /// Puts the rate back that it had.
    pub fn restore(&self) -> Result<(), SteerError> {
        let words = self.words(self.found);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        tc(&words).map(drop)
    }

    fn words(&self, rate: Option<Rate>) -> Vec<String> {
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
            Kind::Htb(class) => vec![
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

fn read(
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
            let list = entries(&classes()?);
            let top = list
                .iter()
                .find(|class| class["root"] == true)
                .ok_or_else(none)?;
            let number = top["handle"].as_str().ok_or_else(none)?;
            Ok(shaper(Kind::Htb(number.to_owned()), rate_of(&top["rate"])))
        }
        _ => Err(none()),
    }
}

/// A list of JSON; what is none is empty.
fn entries(text: &str) -> Vec<Value> {
    serde_json::from_str(text).unwrap_or_default()
}

fn tc(arguments: &[&str]) -> Result<String, SteerError> {
    let output = Command::new("tc")
        .args(arguments)
        .output()
        .map_err(SteerError::NoTc)?;
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
