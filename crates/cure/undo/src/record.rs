//! The text of a claim's file: a line of JSON for who claims, for each step, and for its being kept.

use crate::resource::{Purpose, Resource};
use crate::step::Step;
use serde::{Deserialize, Serialize};

/// Of what is written here. A step that an older program does not know makes a new one.
pub(crate) const VERSION: u32 = 3;

/// The first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Head {
    #[serde(default)]
    pub(crate) version: u32,
    pub(crate) resource: Resource,
    pub(crate) pid: u32,
    pub(crate) purpose: Purpose,
    /// `/proc/sys/kernel/random/boot_id`.
    pub(crate) boot: String,
    /// The cookie of the network namespace.
    pub(crate) namespace: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Line {
    Claim(Head),
    Step(Step),
    /// The change is to outlast its process.
    Kept,
}

impl Line {
    pub(crate) fn to_text(&self) -> String {
        let mut text = serde_json::to_string(self).expect("a line has no map with other keys");
        text.push('\n');
        text
    }
}

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Record {
    pub(crate) head: Option<Head>,
    pub(crate) steps: Vec<Step>,
    pub(crate) is_kept: bool,
}

/// Why a journal cannot be read.
#[derive(Debug)]
pub(crate) enum Fault {
    Line(usize, serde_json::Error),
    Newer(u32),
}

impl Record {
    /// A last line without an end was being written when its owner was killed: the step had not been done.
    pub(crate) fn read(text: &str) -> Result<Record, Fault> {
        let mut record = Record::default();
        let whole = text.split_inclusive('\n').filter(|l| l.ends_with('\n'));
        for (number, line) in whole.enumerate() {
            match serde_json::from_str(line).map_err(|error| Fault::Line(number + 1, error))? {
                Line::Claim(head) if head.version > VERSION => {
                    return Err(Fault::Newer(head.version));
                }
                Line::Claim(head) => record.head = Some(head),
                Line::Step(step) => record.steps.push(step),
                Line::Kept => record.is_kept = true,
            }
        }
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> Head {
        Head {
            version: VERSION,
            resource: Resource::Queues {
                device: "a\n\"b".to_owned(),
            },
            pid: 7,
            purpose: Purpose {
                command: "unbloat sqm\napply".to_owned(),
                note: String::new(),
            },
            boot: "boot".to_owned(),
            namespace: 4,
        }
    }

    #[test]
    fn what_is_written_is_read_and_a_cut_line_is_not() {
        let step = Step::Link {
            name: "ifb4eth0".to_owned(),
            index: None,
        };
        let lines = [Line::Claim(head()), Line::Step(step.clone()), Line::Kept];
        let text: String = lines.iter().map(Line::to_text).collect();
        let record = Record::read(&text).unwrap();
        assert_eq!(record.head, Some(head()));
        assert_eq!((record.steps.len(), record.is_kept), (1, true));
        let cut = Record::read(&text[..text.len() - 2]).unwrap();
        assert_eq!((cut.steps, cut.is_kept), (vec![step], false));
    }

    #[test]
    fn what_is_no_journal_is_an_error_with_its_line() {
        let text = Line::Claim(head()).to_text() + "{\"step\":{\"run\":\"rm -rf /\"}}\n";
        assert!(matches!(Record::read(&text), Err(Fault::Line(2, _))));
    }

    #[test]
    fn a_newer_program_s_journal_is_left_to_it_and_an_older_one_s_is_read() {
        let text = Line::Claim(head()).to_text();
        let newer = text.replace(r#""version":3"#, r#""version":4"#);
        assert!(matches!(Record::read(&newer), Err(Fault::Newer(4))));
        let older = text.replace(r#""version":3,"#, "");
        assert_eq!(Record::read(&older).unwrap().head.unwrap().version, 0);
    }
}
