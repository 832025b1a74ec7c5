//! What is taken in turn: settings of the test, and labels.

use crate::setting::Settings;
use unbloat_experiment::scenario::toml::{Error, Keys, Node, Origin, Value as Written};
use unbloat_params::Settings as _;

/// More values of one axis than this are a slip of the pen.
const MOST_VALUES: usize = 1_000;
/// Names of labels and their values are columns and parts of file names.
const LONGEST_NAME: usize = 60;

/// Commands of the user's own that switch a configuration on and off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    pub before: Option<String>,
    pub after: Option<String>,
}

/// One value of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    pub name: String,
    pub settings: Settings,
    pub hooks: Hooks,
}

/// Something that is varied.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    pub name: String,
    pub values: Vec<Value>,
    /// Somebody has to change it by hand: it is changed as seldom as can be.
    pub is_manual: bool,
}

/// `[axes]` and `[labels]`, in the order in which they are written.
pub(crate) fn axes(axes: Option<Node>, labels: Option<Node>) -> Result<Vec<Axis>, Error> {
    let mut all: Vec<(Origin, Axis)> = Vec::new();
    if let Some(node) = labels {
        for (name, value) in table(&node, "labels")? {
            all.push((value.origin.clone(), label(name, value)?));
        }
    }
    if let Some(node) = axes {
        let mut keys = Keys::of(&node, "axes")?;
        for key in Settings::KEYS {
            if let Some(values) = keys.take(key) {
                all.push((values.origin.clone(), setting(key, &values)?));
            }
        }
        keys.end()?;
    }
    // Where the tree forgot the order, lines tell it; what nobody changes by hand varies faster.
    all.sort_by_key(|(origin, axis)| (!axis.is_manual, line(origin)));
    Ok(all.into_iter().map(|(_, axis)| axis).collect())
}

fn line(origin: &Origin) -> usize {
    match origin {
        Origin::Line(line) => *line,
        _ => usize::MAX,
    }
}

fn table<'n>(
    node: &'n Node,
    key: &str,
) -> Result<impl Iterator<Item = (&'n String, &'n Node)>, Error> {
    match &node.value {
        Written::Table(table) => Ok(table.iter()),
        _ => fault(
            node,
            key,
            format!("{} where a table is wanted", node.kind()),
        ),
    }
}

fn fault<T>(node: &Node, key: &str, message: impl Into<String>) -> Result<T, Error> {
    Err(Error::new(node.origin.clone(), key, message))
}

/// An axis of a setting: each value as the setting itself would be written.
fn setting(key: &'static str, node: &Node) -> Result<Axis, Error> {
    let path = format!("axes.{key}");
    let values = items(node, &path)?.iter().map(|item| {
        let mut single = Node::table(item.origin.clone());
        single.put(key, item.clone())?;
        let mut keys = Keys::of(&single, "axes")?;
        let settings = Settings::take(&mut keys)?;
        keys.end()?;
        let shown = settings.pairs().pop().map(|(_, shown)| shown);
        let name = name_of(item).unwrap_or_else(|| shown.unwrap_or_default());
        Ok(Value {
            name,
            settings,
            hooks: Hooks::default(),
        })
    });
    let values: Result<Vec<Value>, Error> = values.collect();
    whole(node, &path, key.to_owned(), values?, false)
}

/// As it is written, where that is fit to be a name.
fn name_of(item: &Node) -> Option<String> {
    let shown = match &item.value {
        Written::Array(items) => {
            let plain = items
                .iter()
                .all(|one| !matches!(one.value, Written::Table(_) | Written::Array(_)));
            let shown: Vec<String> = items.iter().map(Node::to_string).collect();
            plain.then(|| shown.join("+"))?
        }
        Written::Table(_) => return None,
        _ => item.to_string(),
    };
    let is_fit = shown.len() <= LONGEST_NAME && !shown.chars().any(unbloat_untrusted::acts);
    is_fit.then_some(shown)
}

/// `place = ["home", "office"]`, or a table of `values` and whether somebody has to change it by hand.
fn label(name: &str, node: &Node) -> Result<Axis, Error> {
    let path = format!("labels.{name}");
    if Settings::KEYS.contains(&name) {
        let message = format!("{name:?} is a setting of the test, no label; write it under [axes]");
        return fault(node, &path, message);
    }
    check_name(node, &path, name)?;
    let (values, is_manual) = match &node.value {
        Written::Table(_) => {
            let mut keys = Keys::of(node, &path)?;
            let values = keys.take("values").ok_or_else(|| keys.missing("values"))?;
            let is_manual = keys.or("manual", false)?;
            keys.end()?;
            (values, is_manual)
        }
        _ => (node.clone(), false),
    };
    let of_label = items(&values, &path)?.iter().map(|item| value(item, &path));
    let of_label: Result<Vec<Value>, Error> = of_label.collect();
    whole(node, &path, name.to_owned(), of_label?, is_manual)
}

/// A name, or a table of `name`, what it sets, and commands.
fn value(node: &Node, path: &str) -> Result<Value, Error> {
    let Written::Table(_) = node.value else {
        let name = node.to_string();
        check_name(node, path, &name)?;
        return Ok(Value {
            name,
            settings: Settings::default(),
            hooks: Hooks::default(),
        });
    };
    let mut keys = Keys::of(node, path)?;
    let name: String = keys.need("name")?;
    check_name(node, path, &name)?;
    let value = Value {
        name,
        hooks: hooks(&mut keys)?,
        settings: Settings::take(&mut keys)?,
    };
    keys.end()?;
    Ok(value)
}

/// `before` and `after`.
pub(crate) fn hooks(keys: &mut Keys) -> Result<Hooks, Error> {
    Ok(Hooks {
        before: keys.maybe("before")?,
        after: keys.maybe("after")?,
    })
}

fn items<'n>(node: &'n Node, path: &str) -> Result<&'n [Node], Error> {
    match &node.value {
        Written::Array(items) if (1..=MOST_VALUES).contains(&items.len()) => Ok(items),
        _ => fault(
            node,
            path,
            format!("an array of 1 to {MOST_VALUES} values is wanted"),
        ),
    }
}

fn check_name(node: &Node, path: &str, name: &str) -> Result<(), Error> {
    let is_fit = !name.trim().is_empty()
        && name.chars().count() <= LONGEST_NAME
        && !name.chars().any(unbloat_untrusted::acts);
    match is_fit {
        true => Ok(()),
        false => fault(
            node,
            path,
            format!("{name:?} is no name; up to {LONGEST_NAME} letters of one line are"),
        ),
    }
}

fn whole(
    node: &Node,
    path: &str,
    name: String,
    values: Vec<Value>,
    is_manual: bool,
) -> Result<Axis, Error> {
    for (index, value) in values.iter().enumerate() {
        if values[..index]
            .iter()
            .any(|earlier| earlier.name == value.name)
        {
            return fault(
                node,
                path,
                format!(
                    "{:?} is there twice; \"repeats\" says how often each is measured",
                    value.name
                ),
            );
        }
    }
    Ok(Axis {
        name,
        values,
        is_manual,
    })
}
