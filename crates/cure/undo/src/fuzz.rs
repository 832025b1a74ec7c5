//! For the fuzz target: journals of any text, and what the kernel tells of disciplines and classes.

use crate::record::{Line, Record};
use crate::step::is_setting;
use crate::{class, discipline};
use std::path::Path;

/// A journal that can be read is written again: the same text but for what was no line of ours.
pub fn journal(text: &str) -> Option<Journal> {
    let record = Record::read(text).ok()?;
    let head = record.head.clone();
    let mut said: Vec<String> = record.steps.iter().map(|step| step.name()).collect();
    said.extend(head.iter().map(|head| head.resource.to_string()));
    let stem = head.as_ref().map(|head| head.resource.file_stem());
    let lines = head.into_iter().map(Line::Claim);
    let lines = lines.chain(record.steps.iter().cloned().map(Line::Step));
    let mut written: String = lines.map(|line| line.to_text()).collect();
    if record.is_kept {
        written += &Line::Kept.to_text();
    }
    assert!(Record::read(&written).is_ok_and(|again| again == record));
    Some(Journal {
        said,
        stem,
        steps: record.steps.len(),
        is_kept: record.is_kept,
    })
}

/// Of a journal that could be read.
pub struct Journal {
    /// Names of what it holds, for messages.
    pub said: Vec<String>,
    /// The name of its file.
    pub stem: Option<String>,
    pub steps: usize,
    pub is_kept: bool,
}

/// Whether a number would be written there for a journal.
pub fn is_written(path: &Path) -> bool {
    is_setting(path)
}

/// What the kernel would be told to have what it told of is what it told.
pub fn kernel(answer: &[u8]) {
    let index = 7;
    if let Some(found) = discipline::read(answer) {
        let again = discipline::read(&discipline::told(index, &found));
        let again = again.expect("what is told can be read");
        let whole =
            |d: &discipline::Discipline| (d.kind.clone(), d.parent, d.handle, d.options.clone());
        assert_eq!(whole(&again), whole(&found));
    }
    if let Some(found) = class::read(answer) {
        assert_eq!(class::read(&class::told(index, &found)), Some(found));
    }
}
