//! OpenWrt's language of configurations, read and written.
//!
//! A file is sections (`config queue 'wan'`) of options (`option download '19000'`) and lists. Words are bare, in single quotes (nothing
//! is special within), or in double quotes (a backslash takes the next character as it is). A `#` begins a comment where a word could begin.
//! What a router answers is read too, so everything is bounded, and each fault names its line.

use crate::plan::{Plan, Qdisc};
use crate::section::{PTM, Shaper};
use crate::tc;
use std::fmt::Write;
use unbloat_units::{Cells, Framing, Rate};

const LONGEST_FILE: usize = 256 * 1024;
const LONGEST_LINE: usize = 4096;
/// Of a line, for the keyword and what is between the words.
const ROOM: usize = 16;
const MOST_SECTIONS: usize = 1000;
const MOST_OPTIONS: usize = 200;

/// One `config`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    pub kind: String,
    pub name: Option<String>,
    /// Where it begins.
    pub line: usize,
    pub options: Vec<Entry>,
}

/// One `option` or `list`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub key: String,
    pub value: String,
    pub is_list: bool,
    pub line: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UciError {
    #[error("the configuration has {bytes} bytes; at most {LONGEST_FILE} are allowed")]
    TooLong { bytes: usize },
    #[error("line {line}: longer than {LONGEST_LINE} bytes")]
    LongLine { line: usize },
    #[error("line {line}: unclosed quote")]
    Quote { line: usize },
    #[error("line {line}: control characters are not allowed")]
    Control { line: usize },
    #[error(
        "line {line}: unknown keyword \"{}\"; lines begin with config, option, list or package",
        word.escape_debug()
    )]
    Word { line: usize, word: String },
    #[error("line {line}: {keyword} takes {wants}, found {found} words")]
    Count {
        line: usize,
        keyword: &'static str,
        wants: &'static str,
        found: usize,
    },
    #[error("line {line}: \"{}\" is not a valid name: use letters, digits and _ (in types also -)", name.escape_debug())]
    Name { line: usize, name: String },
    #[error("line {line}: option before the first config section")]
    Stray { line: usize },
    #[error("line {line}: too many sections or options")]
    TooMany { line: usize },
    #[error("sqm-scripts has no script for {qdisc}; use cake or fq_codel")]
    NoScript { qdisc: Qdisc },
}

/// Reads a file.
pub fn read(text: &str) -> Result<Vec<Section>, UciError> {
    if text.len() > LONGEST_FILE {
        return Err(UciError::TooLong { bytes: text.len() });
    }
    let mut sections: Vec<Section> = Vec::new();
    for (index, written) in text.lines().enumerate() {
        let line = index + 1;
        let words = words(written, line)?;
        let Some((keyword, rest)) = words.split_first() else {
            continue;
        };
        match keyword.as_str() {
            "package" => {}
            "config" if sections.len() == MOST_SECTIONS => return Err(UciError::TooMany { line }),
            "config" => sections.push(section(rest, line)?),
            "option" => push(&mut sections, entry(rest, line, false)?)?,
            "list" => push(&mut sections, entry(rest, line, true)?)?,
            other => {
                let word = other.chars().take(40).collect();
                return Err(UciError::Word { line, word });
            }
        }
    }
    Ok(sections)
}

/// Writes sections as `uci export` does, without the package.
pub fn write(sections: &[Section]) -> String {
    let mut text = String::new();
    for section in sections {
        text.push_str("\nconfig ");
        text.push_str(&section.kind);
        if let Some(name) = &section.name {
            write!(text, " {}", quoted(name)).expect("strings grow");
        }
        text.push('\n');
        for entry in &section.options {
            let keyword = if entry.is_list { "list" } else { "option" };
            let value = quoted(&entry.value);
            writeln!(text, "\t{keyword} {} {value}", entry.key).expect("strings grow");
        }
    }
    text.trim_start().to_owned()
}

/// The section of a plan in `/etc/config/sqm`.
pub fn section_of(plan: &Plan) -> Result<Section, UciError> {
    let (qdisc, script) = match plan.qdisc {
        Qdisc::Cake => ("cake", "piece_of_cake.qos"),
        Qdisc::FqCodel => ("fq_codel", "simplest.qos"),
        qdisc => return Err(UciError::NoScript { qdisc }),
    };
    let mut options = vec![
        ("enabled", "1".to_owned()),
        ("interface", plan.device.to_string()),
        ("download", kbit(plan, plan.down)),
        ("upload", kbit(plan, plan.up)),
        ("qdisc", qdisc.to_owned()),
        ("script", script.to_owned()),
    ];
    options.extend(Shaper::framing_options(match plan.qdisc {
        Qdisc::Cake => plan.framing,
        // They give it to the kernel's size table as it is.
        _ => plan.framing_of_frames(),
    }));
    let words = cake_words(plan);
    if plan.qdisc == Qdisc::Cake && !words.is_empty() {
        options.push(("qdisc_advanced", "1".to_owned()));
        options.push(("qdisc_really_really_advanced", "1".to_owned()));
        options.push(("iqdisc_opts", words.clone()));
        options.push(("eqdisc_opts", words));
    }
    Ok(Section {
        kind: "queue".to_owned(),
        name: Some(section_name(plan)),
        line: 0,
        options: options
            .into_iter()
            .map(|(key, value)| Entry {
                key: key.to_owned(),
                value,
                is_list: false,
                line: 0,
            })
            .collect(),
    })
}

/// What CAKE is told for which sqm-scripts have no option of their own.
fn cake_words(plan: &Plan) -> String {
    let words = [(plan.nat, "nat"), (plan.framing.cells == Cells::Ptm, PTM)];
    let said = words.iter().filter(|(is, _)| *is);
    let rtt = plan.rtt.map(|rtt| format!("rtt {}", tc::cake_rtt(rtt)));
    let said = said.map(|(_, word)| (*word).to_owned()).chain(rtt);
    said.collect::<Vec<String>>().join(" ")
}

/// The lines for `uci batch` that put the plan's section in place of whatever had its name. Nothing is committed: until then a boot has
/// the configuration as it was.
pub fn batch(plan: &Plan) -> Result<String, UciError> {
    let section = section_of(plan)?;
    let name = section_name(plan);
    let mut text = format!("delete sqm.{name}\nset sqm.{name}={}\n", section.kind);
    for entry in &section.options {
        let value = quoted(&entry.value);
        writeln!(text, "set sqm.{name}.{}={value}", entry.key).expect("strings grow");
    }
    Ok(text)
}

/// `unbloat_` and the device, all else than letters and digits as `_`.
pub fn section_name(plan: &Plan) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let device: String = plan.device.as_str().chars().map(safe).collect();
    format!("unbloat_{device}")
}

fn kbit(plan: &Plan, rate: Option<Rate>) -> String {
    let told = |wanted: Rate| match plan.qdisc {
        Qdisc::Cake => wanted,
        _ => tc::htb_rate(plan.framing, wanted),
    };
    rate.map_or(0, |rate| told(rate).as_bps() / 1000)
        .to_string()
}

/// In single quotes, as a shell and UCI read them alike.
pub(crate) fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', "'\\''"))
}

fn section(words: &[String], line: usize) -> Result<Section, UciError> {
    let (kind, name) = match words {
        [kind] => (kind, None),
        [kind, name] => (kind, Some(name)),
        _ => {
            return Err(UciError::Count {
                line,
                keyword: "config",
                wants: "a type and an optional name",
                found: words.len(),
            });
        }
    };
    for word in std::iter::once(kind).chain(name) {
        named(word, line)?;
    }
    if words.iter().map(String::len).sum::<usize>() + ROOM > LONGEST_LINE {
        return Err(UciError::LongLine { line });
    }
    Ok(Section {
        kind: kind.clone(),
        name: name.cloned(),
        line,
        options: Vec::new(),
    })
}

fn entry(words: &[String], line: usize, is_list: bool) -> Result<Entry, UciError> {
    let [key, value] = words else {
        return Err(UciError::Count {
            line,
            keyword: if is_list { "list" } else { "option" },
            wants: "a key and a value",
            found: words.len(),
        });
    };
    named(key, line)?;
    // Quotes grow when they are written: the line must be one that we read again.
    if key.len() + quoted(value).len() + ROOM > LONGEST_LINE {
        return Err(UciError::LongLine { line });
    }
    Ok(Entry {
        key: key.clone(),
        value: value.clone(),
        is_list,
        line,
    })
}

fn push(sections: &mut [Section], entry: Entry) -> Result<(), UciError> {
    let line = entry.line;
    let section = sections.last_mut().ok_or(UciError::Stray { line })?;
    if section.options.len() == MOST_OPTIONS {
        return Err(UciError::TooMany { line });
    }
    section.options.push(entry);
    Ok(())
}

fn named(name: &str, line: usize) -> Result<(), UciError> {
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !name.is_empty() && name.bytes().all(is_fit) {
        return Ok(());
    }
    let name = name.chars().take(40).collect();
    Err(UciError::Name { line, name })
}

/// The words of a line.
fn words(text: &str, line: usize) -> Result<Vec<String>, UciError> {
    if text.len() > LONGEST_LINE {
        return Err(UciError::LongLine { line });
    }
    if text
        .chars()
        .any(|c| unbloat_untrusted::acts(c) && c != '\t')
    {
        return Err(UciError::Control { line });
    }
    let mut words = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(&first) = chars.peek() {
        match first {
            ' ' | '\t' => {
                chars.next();
            }
            '#' => break,
            _ => words.push(word(&mut chars).ok_or(UciError::Quote { line })?),
        }
    }
    Ok(words)
}

/// One word; quoted and bare parts that touch are one. None where a quote is open at the end.
fn word(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<String> {
    let mut word = String::new();
    while let Some(c) = chars.next_if(|c| !matches!(c, ' ' | '\t')) {
        match c {
            '\'' => loop {
                match chars.next()? {
                    '\'' => break,
                    inner => word.push(inner),
                }
            },
            '"' => loop {
                match chars.next()? {
                    '"' => break,
                    '\\' => word.push(chars.next()?),
                    inner => word.push(inner),
                }
            },
            '\\' => word.push(chars.next()?),
            bare => word.push(bare),
        }
    }
    Some(word)
}

/// The framing that a section tells, for those who compare.
pub fn framing_of(section: &Section) -> Option<Framing> {
    Shaper::read(section).framing()
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_units::Both;

    fn plan() -> Plan {
        let rates = Both::new(Some(Rate::mbps(19)), Some(Rate::kbps(950)));
        let device = "pppoe-wan".parse().unwrap();
        Plan::new(device, rates, Framing::ATM, Qdisc::Cake).unwrap()
    }

    #[test]
    fn a_plan_comes_back_as_it_was_written() {
        let section = section_of(&plan()).unwrap();
        let text = write(std::slice::from_ref(&section));
        assert!(text.starts_with("config queue 'unbloat_pppoe_wan'\n\toption enabled '1'\n"));
        let read = read(&text).unwrap();
        assert_eq!(read.len(), 1);
        let plain = |s: &Section| -> Vec<(String, String)> {
            let entries = s.options.iter();
            entries.map(|e| (e.key.clone(), e.value.clone())).collect()
        };
        assert_eq!(plain(&read[0]), plain(&section));
        assert_eq!(framing_of(&read[0]), Some(Framing::ATM));
        assert_eq!(write(&read), text, "and again");
    }

    #[test]
    fn ptm_is_told_to_cake_and_paid_for_by_others() {
        let ptm = Plan {
            framing: Framing::PTM,
            ..plan()
        };
        let section = section_of(&ptm).unwrap();
        assert_eq!(framing_of(&section), Some(Framing::PTM));
        let told = write(&[section]);
        assert!(told.contains("option eqdisc_opts 'ptm'") && told.contains("download '19000'"));
        let other = Plan {
            qdisc: Qdisc::FqCodel,
            header_bytes: 14,
            ..ptm
        };
        let of_table = write(&[section_of(&other).unwrap()]);
        // 64 of 65; 30 bytes, of which the kernel counts Ethernet's by itself.
        assert!(of_table.contains("download '18707'") && of_table.contains("overhead '16'"));
    }

    #[test]
    fn quotes_and_comments_are_read_as_openwrt_does() {
        let text = "# sqm\npackage sqm\n\nconfig queue \"eth1\"\n  option a 'x # y' # z\n\toption b \"q\\\"r\"\n option c it\\'s'a b'\nconfig queue\n list d e\n";
        let sections = read(text).unwrap();
        let values: Vec<&str> = sections[0]
            .options
            .iter()
            .map(|e| e.value.as_str())
            .collect();
        assert_eq!(values, ["x # y", "q\"r", "it'sa b"]);
        assert_eq!((sections[1].name.as_ref(), sections[1].line), (None, 8));
        assert!(sections[1].options[0].is_list);
    }

    #[test]
    fn values_with_quotes_stay_values() {
        let hostile = "a'; reboot; 'b \" $(x) `y`";
        let section = Section {
            kind: "queue".to_owned(),
            options: vec![Entry {
                key: "k".to_owned(),
                value: hostile.to_owned(),
                is_list: false,
                line: 0,
            }],
            ..Section::default()
        };
        let sections = read(&write(&[section])).unwrap();
        assert_eq!(sections[0].options[0].value, hostile);
    }

    #[test]
    fn faults_name_their_line() {
        let fault = |text: &str| read(text).unwrap_err();
        assert_eq!(
            fault("config queue\n option a 'b"),
            UciError::Quote { line: 2 }
        );
        assert_eq!(fault("option a b"), UciError::Stray { line: 1 });
        assert!(matches!(fault("\n<html>"), UciError::Word { line: 2, .. }));
        assert!(matches!(
            fault("config a b c"),
            UciError::Count { found: 3, .. }
        ));
        assert!(matches!(
            fault("config 'a b'"),
            UciError::Name { line: 1, .. }
        ));
        assert_eq!(fault("config q\0"), UciError::Control { line: 1 });
    }

    #[test]
    fn floods_are_refused() {
        let long = "x".repeat(LONGEST_FILE + 1);
        assert!(matches!(read(&long), Err(UciError::TooLong { .. })));
        let line = format!("option a {}", "x".repeat(LONGEST_LINE));
        assert_eq!(read(&line), Err(UciError::LongLine { line: 1 }));
        let many = "config a\n".repeat(MOST_SECTIONS + 1);
        assert!(matches!(read(&many), Err(UciError::TooMany { .. })));
    }

    #[test]
    fn any_text_is_read_or_refused() {
        let mut state = 3u64;
        let alphabet = [
            "config ", "option ", "'", "\"", "\\", "\n", " ", "a", "#", "é", "\t",
        ];
        for _ in 0..2000 {
            let text: String = (0..30)
                .map(|_| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    alphabet[(state >> 33) as usize % alphabet.len()]
                })
                .collect();
            if let Ok(sections) = read(&text) {
                let again = read(&write(&sections)).unwrap();
                assert_eq!(again.len(), sections.len(), "{text:?}");
            }
        }
    }
}
