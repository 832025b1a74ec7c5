//! A tree of values that know where they were written.

use super::error::{Error, Origin};
use std::collections::BTreeMap;
use std::fmt;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Arrays and tables nested deeper than this are no scenario.
const MAX_DEPTH: usize = 32;

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub origin: Origin,
    pub value: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    Array(Vec<Node>),
    Table(BTreeMap<String, Node>),
}

impl Node {
    pub fn table(origin: Origin) -> Node {
        Node {
            origin,
            value: Value::Table(BTreeMap::new()),
        }
    }

    pub fn text(origin: Origin, text: impl Into<String>) -> Node {
        Node {
            origin,
            value: Value::Text(text.into()),
        }
    }

    /// Reads a whole file.
    pub fn parse(text: &str) -> Result<Node, Error> {
        let table = DeTable::parse(text).map_err(|error| syntax(text, &error))?;
        let lines = Lines::new(text);
        from_table(
            table.get_ref(),
            Origin::Line(1),
            &|at| Origin::Line(lines.of(at)),
            0,
        )
    }

    /// Reads `key=value` of the command line. What TOML would not take as a value is a text: `link.down.rate=20 Mbit/s` needs no
    /// quotes.
    pub fn assignment(text: &str) -> Result<(&str, Node), Error> {
        let (key, value) = text.split_once('=').ok_or_else(|| {
            let example = "write it like link.down.rate=\"20 Mbit/s\"";
            Error::new(
                Origin::Set,
                "",
                format!("{text:?} is not an assignment; {example}"),
            )
        })?;
        Ok((key.trim(), value_of(value.trim(), &Origin::Set)))
    }

    /// Puts a value under a path of keys; tables that are missing on the way are made. In an array that exists, a number
    /// is an index and `*` means every entry: `flow.0.cc`, `flow.*.cc`.
    pub fn put(&mut self, path: &str, node: Node) -> Result<(), Error> {
        let origin = node.origin.clone();
        let keys: Vec<&str> = path.split('.').collect();
        self.put_below(&keys, node)
            .map_err(|message| Error::new(origin, path, message))
    }

    fn put_below(&mut self, keys: &[&str], node: Node) -> Result<(), String> {
        let [key, below @ ..] = keys else {
            *self = node;
            return Ok(());
        };
        match &mut self.value {
            Value::Array(items) if *key == "*" => items
                .iter_mut()
                .try_for_each(|item| item.put_below(below, node.clone())),
            _ => self.child(key)?.put_below(below, node),
        }
    }

    /// What stands under a path of keys.
    pub fn get(&self, path: &str) -> Option<&Node> {
        path.split('.').try_fold(self, |at, key| match &at.value {
            Value::Table(table) => table.get(key),
            Value::Array(items) => items.get(key.parse::<usize>().ok()?),
            _ => None,
        })
    }

    /// Every plain value below, and every array of such, with its path of keys: a whole scenario as one list.
    pub fn leaves(&self) -> Vec<(String, String)> {
        let mut leaves = Vec::new();
        self.collect_leaves("", &mut leaves);
        leaves
    }

    fn collect_leaves(&self, path: &str, leaves: &mut Vec<(String, String)>) {
        let below = |key: &str| match path {
            "" => key.to_owned(),
            _ => format!("{path}.{key}"),
        };
        match &self.value {
            Value::Table(table) => table
                .iter()
                .for_each(|(key, node)| node.collect_leaves(&below(key), leaves)),
            Value::Array(items) if items.iter().any(Node::is_table) => items
                .iter()
                .enumerate()
                .for_each(|(index, node)| node.collect_leaves(&below(&index.to_string()), leaves)),
            _ => leaves.push((path.to_owned(), self.to_string())),
        }
    }

    fn is_table(&self) -> bool {
        matches!(self.value, Value::Table(_))
    }

    /// Takes a key out of a table.
    pub fn take(&mut self, key: &str) -> Option<Node> {
        match &mut self.value {
            Value::Table(table) => table.remove(key),
            _ => None,
        }
    }

    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    fn child(&mut self, key: &str) -> Result<&mut Node, String> {
        if key.is_empty() {
            return Err("the path of keys has an empty part".into());
        }
        match &mut self.value {
            Value::Table(table) => Ok(table
                .entry(key.to_owned())
                .or_insert_with(|| Node::table(Origin::Nowhere))),
            Value::Array(items) => {
                let count = items.len();
                let index = key.parse::<usize>().ok().filter(|index| *index < count);
                let index = index.ok_or_else(|| {
                    format!("{key:?} is not an index of its {count} entries (from 0)")
                })?;
                Ok(&mut items[index])
            }
            _ => Err(format!("{key:?} is below a plain value")),
        }
    }

    /// What the value is, for messages.
    pub fn kind(&self) -> String {
        match &self.value {
            Value::Text(text) => format!("the text {text:?}"),
            Value::Integer(number) => format!("the number {number}"),
            Value::Float(number) => format!("the number {number}"),
            Value::Boolean(truth) => truth.to_string(),
            Value::Array(_) => "an array".into(),
            Value::Table(_) => "a table".into(),
        }
    }
}

/// The value as it would be written on the command line.
impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Value::Text(text) => f.write_str(text),
            Value::Integer(number) => write!(f, "{number}"),
            Value::Float(number) => write!(f, "{number}"),
            Value::Boolean(truth) => write!(f, "{truth}"),
            Value::Array(items) => {
                let items: Vec<_> = items.iter().map(Node::to_string).collect();
                write!(f, "[{}]", items.join(", "))
            }
            Value::Table(table) => {
                let entries: Vec<_> = table
                    .iter()
                    .map(|(name, node)| format!("{name}={node}"))
                    .collect();
                write!(f, "{{{}}}", entries.join(", "))
            }
        }
    }
}

fn value_of(text: &str, origin: &Origin) -> Node {
    match DeValue::parse(text) {
        Ok(value) => from_value(value.get_ref(), origin.clone(), &|_| origin.clone(), 0)
            .unwrap_or_else(|_| Node::text(origin.clone(), text)),
        Err(_) => Node::text(origin.clone(), text),
    }
}

type OriginOf<'a> = &'a dyn Fn(&std::ops::Range<usize>) -> Origin;

fn from_table(
    table: &DeTable<'_>,
    origin: Origin,
    of: OriginOf<'_>,
    depth: usize,
) -> Result<Node, Error> {
    let mut out = BTreeMap::new();
    for (key, value) in table {
        let name = key.get_ref().to_string();
        if name.contains(unbloat_untrusted::acts) {
            let message = format!("{name:?} is not a valid key: it contains a control character");
            return Err(Error::new(of(&key.span()), "", message));
        }
        out.insert(name, from_spanned(value, &of(&key.span()), of, depth + 1)?);
    }
    Ok(Node {
        origin,
        value: Value::Table(out),
    })
}

fn from_spanned(
    value: &Spanned<DeValue<'_>>,
    key: &Origin,
    of: OriginOf<'_>,
    depth: usize,
) -> Result<Node, Error> {
    // Tables opened by a header are told by the header's key, values by themselves.
    let origin = match value.get_ref() {
        DeValue::Table(_) => key.clone(),
        _ => of(&value.span()),
    };
    from_value(value.get_ref(), origin, of, depth)
}

fn from_value(
    value: &DeValue<'_>,
    origin: Origin,
    of: OriginOf<'_>,
    depth: usize,
) -> Result<Node, Error> {
    if depth > MAX_DEPTH {
        return Err(Error::new(
            origin,
            "",
            format!("nested more than {MAX_DEPTH} levels deep"),
        ));
    }
    let value = match value {
        DeValue::String(text) => {
            // Names and remarks are shown.
            let acts = |c: char| unbloat_untrusted::acts(c) && !matches!(c, '\n' | '\t');
            if let Some(found) = text.chars().find(|c| acts(*c)) {
                let message = format!("control character {found:?} is not allowed in a string");
                return Err(Error::new(origin, "", message));
            }
            Value::Text(text.to_string())
        }
        DeValue::Boolean(truth) => Value::Boolean(*truth),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Value::Integer(number),
            Err(_) => {
                return Err(Error::new(
                    origin,
                    "",
                    format!("{:?} is too large", number.as_str()),
                ));
            }
        },
        DeValue::Float(number) => match number.as_str().parse() {
            Ok(number) => Value::Float(number),
            Err(_) => {
                return Err(Error::new(
                    origin,
                    "",
                    format!("{:?} is not a number", number.as_str()),
                ));
            }
        },
        DeValue::Datetime(when) => {
            return Err(Error::new(
                origin,
                "",
                format!("{when} is a date; no key accepts dates"),
            ));
        }
        DeValue::Array(items) => {
            let items = items
                .iter()
                .map(|item| from_spanned(item, &of(&item.span()), of, depth + 1));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => return from_table(table, origin, of, depth),
    };
    Ok(Node { origin, value })
}

fn syntax(text: &str, error: &toml::de::Error) -> Error {
    let line = error.span().map_or(1, |span| Lines::new(text).of(&span));
    Error::new(Origin::Line(line), "", error.message().replace('\n', "; "))
}

/// Where lines begin.
struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    fn new(text: &str) -> Lines {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Lines {
            starts: std::iter::once(0)
                .chain(breaks.map(|(at, _)| at + 1))
                .collect(),
        }
    }

    fn of(&self, span: &std::ops::Range<usize>) -> usize {
        self.starts.partition_point(|start| *start <= span.start)
    }
}
