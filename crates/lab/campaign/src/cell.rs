//! One combination of values.

use crate::axis::{Axis, Hooks, Value};
use crate::setting::Settings;

/// Of a folder's name, besides its hash.
const LONGEST_SLUG: usize = 80;

#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    pub index: usize,
    /// A value of each axis, by the axis' name.
    pub values: Vec<(String, String)>,
    /// All that is in force.
    pub settings: Settings,
    /// The campaign's first, then each value's.
    pub hooks: Vec<Hooks>,
    /// Names this combination and no other: the same as long as nothing that is measured changes, so that a campaign can be taken up
    /// again though its file has grown.
    pub id: String,
}

impl Cell {
    /// The name of a run of it.
    pub fn run_name(&self, repeat: u32) -> String {
        format!("{}.{}", self.id, repeat + 1)
    }

    /// `place=home queue=sqm`.
    pub fn title(&self) -> String {
        let pairs: Vec<String> = self
            .values
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        match pairs.is_empty() {
            true => "the only one".to_owned(),
            false => pairs.join(" "),
        }
    }

    pub fn value(&self, axis: &str) -> Option<&str> {
        let found = self.values.iter().find(|(name, _)| name == axis);
        found.map(|(_, value)| value.as_str())
    }
}

impl Cell {
    /// The combination of that number: a value of each axis, and what is in force for all.
    pub(crate) fn new(
        index: usize,
        chosen: &[(&Axis, &Value)],
        common: &Settings,
        first: &Hooks,
    ) -> Cell {
        let values: Vec<(String, String)> = chosen
            .iter()
            .map(|(axis, value)| (axis.name.clone(), value.name.clone()))
            .collect();
        let none = Settings::default();
        let own = chosen
            .iter()
            .rev()
            .fold(none, |own, (_, value)| own.or(&value.settings));
        let settings = own.or(common);
        let of_values = chosen.iter().map(|(_, value)| value.hooks.clone());
        let hooks = std::iter::once(first.clone()).chain(of_values);
        let id = id(&values, &settings);
        Cell {
            index,
            values,
            settings,
            hooks: hooks.filter(|hooks| *hooks != Hooks::default()).collect(),
            id,
        }
    }
}

fn id(values: &[(String, String)], settings: &Settings) -> String {
    let mut hash = Fnv::default();
    for (name, value) in values {
        hash.text(name);
        hash.text(value);
    }
    for (name, value) in settings.pairs() {
        hash.text(name);
        hash.text(&value);
    }
    let slug: Vec<String> = values.iter().map(|(_, value)| slug(value)).collect();
    let slug: String = slug.join("_").chars().take(LONGEST_SLUG).collect();
    let slug = if slug.is_empty() {
        "all".to_owned()
    } else {
        slug
    };
    format!("{slug}.{:08x}", hash.0 as u32 ^ (hash.0 >> 32) as u32)
}

/// What any file system takes as a part of a name.
fn slug(text: &str) -> String {
    let fit = |c: char| {
        if c.is_ascii_alphanumeric() || c == '.' {
            c
        } else {
            '-'
        }
    };
    text.chars()
        .map(fit)
        .collect::<String>()
        .trim_matches(['-', '.'])
        .to_owned()
}

/// FNV-1a of 64 bits: the same on every machine and in every version, which the standard library's hashes are not.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn text(&mut self, text: &str) {
        // An end that no text of UTF-8 holds.
        for byte in text.bytes().chain([0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// `place=home`: only cells that have this value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Only {
    pub axis: String,
    pub value: String,
}

impl Only {
    /// Why it names nothing of the campaign, in words.
    pub fn parse(text: &str, axes: &[Axis]) -> Result<Only, String> {
        let (axis, value) = text
            .split_once('=')
            .ok_or_else(|| format!("{text:?} is no choice; write it like place=home"))?;
        let names: Vec<&str> = axes.iter().map(|known| known.name.as_str()).collect();
        let found = axes.iter().find(|known| known.name == axis);
        let found = found.ok_or_else(|| {
            format!(
                "nothing called {axis:?} is varied; there are {}",
                names.join(", ")
            )
        })?;
        let values: Vec<&str> = found
            .values
            .iter()
            .map(|known| known.name.as_str())
            .collect();
        match values.contains(&value) {
            true => Ok(Only {
                axis: axis.to_owned(),
                value: value.to_owned(),
            }),
            false => Err(format!(
                "{axis} is never {value:?}; it is {}",
                values.join(", ")
            )),
        }
    }

    pub fn has(&self, cell: &Cell) -> bool {
        cell.value(&self.axis) == Some(&self.value)
    }
}
