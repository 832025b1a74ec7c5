//! What a campaign can set of a test. Everything may be left to a broader place: a value's own settings go before an axis', those
//! before the campaign's, and what nobody says is as `unbloat test` has it.

use serde::Deserialize;
use std::fmt;
use std::ops::RangeInclusive;
use unbloat_experiment::scenario::toml::{Error, Keys, Node, Origin, Value, read};
use unbloat_experiment::scenario::workload_of;
use unbloat_units::Bytes;
use unbloat_workload::Config as Workload;

/// More applications in one run than this are a slip of the pen.
const MOST_WORKLOADS: usize = 64;
const FLOWS: RangeInclusive<u16> = 1..=64;
const WINDOW: RangeInclusive<Bytes> = Bytes::kib(2)..=Bytes::mib(1024);

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
        pub enum $name { $(#[serde(rename = $word)] $variant,)* }

        impl $name {
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

words! {
    /// What loads the path.
    Load { Idle = "idle", Down = "down", Up = "up", Both = "both", }
}
words! {
    /// How the sending ends buffer: as they do, or with 5 ms of unsent data at most.
    Stack { AsIs = "as_is", NetworkOnly = "network_only", }
}
words! {
    /// Which HTTP carries the load.
    Http { One = "1.1", Two = "2", Three = "3", }
}
words! {
    /// How long the stages are.
    PlanName { Glance = "glance", Usual = "usual", Draft = "draft", }
}

/// Load connections in each direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flows {
    /// More and more, as the responsiveness draft has it.
    Ramp,
    Fixed(u16),
}

impl fmt::Display for Flows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flows::Ramp => f.write_str("ramp"),
            Flows::Fixed(count) => write!(f, "{count}"),
        }
    }
}

/// A name and what runs under it.
type Apps = Vec<(String, Workload)>;

macro_rules! settings {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $read:expr, $show:expr;)*) => {
        /// What is said of a test. None: nothing, here.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Settings { $($(#[$doc])* pub $name: Option<$type>,)* }

        impl Settings {
            /// Their keys in a campaign's file.
            pub const KEYS: &[&str] = &[$(stringify!($name),)*];

            /// Takes the settings out of a table that may hold other keys too.
            pub(crate) fn take(keys: &mut Keys) -> Result<Settings, Error> {
                let mut settings = Settings::default();
                $(
                    let path = keys.path(stringify!($name));
                    if let Some(node) = keys.take(stringify!($name)) {
                        let reader: fn(&Node, &str) -> Result<$type, Error> = $read;
                        settings.$name = Some(reader(&node, &path)?);
                    }
                )*
                Ok(settings)
            }

            /// These, and where they say nothing `broader`.
            pub fn or(&self, broader: &Settings) -> Settings {
                Settings { $($name: self.$name.clone().or_else(|| broader.$name.clone()),)* }
            }

            /// What is said, each with its key.
            pub fn pairs(&self) -> Vec<(&'static str, String)> {
                let mut pairs = Vec::new();
                $(if let Some(value) = &self.$name {
                    let show: fn(&$type) -> String = $show;
                    pairs.push((stringify!($name), show(value)));
                })*
                pairs
            }
        }
    };
}

settings! {
    /// As `unbloat test` is told it.
    server: String = text, String::clone;
    /// HOST:PORT of an irtt server beside it.
    echo: String = text, String::clone;
    /// SHA-256 of its certificate.
    pin: String = text, String::clone;
    /// File of authorities.
    ca: String = text, String::clone;
    insecure: bool = plain, bool::to_string;
    plan: PlanName = plain, PlanName::to_string;
    /// Stages; an idle one comes first in any case, or nothing could be said to be added.
    loads: Vec<Load> = loads, |loads| list(loads);
    stack: Stack = plain, Stack::to_string;
    congestion_control: String = text, String::clone;
    receive_window: Bytes = window, Bytes::to_string;
    flows: Flows = flows, Flows::to_string;
    http: Http = http, Http::to_string;
    workloads: Apps = apps, shown_apps;
}

fn fault<T>(node: &Node, path: &str, message: impl Into<String>) -> Result<T, Error> {
    Err(Error::new(node.origin.clone(), path, message))
}

fn plain<T: serde::de::DeserializeOwned>(node: &Node, path: &str) -> Result<T, Error> {
    read(node, path)
}

fn text(node: &Node, path: &str) -> Result<String, Error> {
    let text: String = read(node, path)?;
    if text.is_empty() {
        return fault(node, path, "expected text that is not empty");
    }
    if text.chars().any(unbloat_untrusted::acts) {
        return fault(node, path, "expected text without control characters");
    }
    Ok(text)
}

fn window(node: &Node, path: &str) -> Result<Bytes, Error> {
    let size: Bytes = read(node, path)?;
    match WINDOW.contains(&size) {
        true => Ok(size),
        false => fault(
            node,
            path,
            format!("from {} to {} is allowed", WINDOW.start(), WINDOW.end()),
        ),
    }
}

fn flows(node: &Node, path: &str) -> Result<Flows, Error> {
    match &node.value {
        Value::Text(word) if word == "ramp" => Ok(Flows::Ramp),
        Value::Integer(count) => match u16::try_from(*count).ok().filter(|n| FLOWS.contains(n)) {
            Some(count) => Ok(Flows::Fixed(count)),
            None => fault(node, path, "from 1 to 64 connections are allowed"),
        },
        _ => fault(node, path, "a number of connections or \"ramp\" is wanted"),
    }
}

/// A version may be written as a number.
fn http(node: &Node, path: &str) -> Result<Http, Error> {
    let text = Node::text(node.origin.clone(), node.to_string());
    read(&text, path)
}

fn loads(node: &Node, path: &str) -> Result<Vec<Load>, Error> {
    let loads: Vec<Load> = each(node, path, |item, at| read(item, at))?;
    let mut sorted = loads.clone();
    sorted.sort_unstable();
    sorted.dedup();
    match sorted.len() == loads.len() && !loads.is_empty() {
        true => Ok(sorted),
        false => fault(node, path, "one load at least, and each once, is wanted"),
    }
}

fn apps(node: &Node, path: &str) -> Result<Apps, Error> {
    if node.as_text() == Some("none") {
        return Ok(Vec::new());
    }
    let mut apps: Apps = Vec::new();
    for (name, workload) in each(node, path, app)? {
        let is_same = |known: &&(String, Workload)| {
            let rest = known.0.strip_prefix(&name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        };
        let same = apps.iter().filter(is_same).count();
        let name = match same {
            0 => name,
            _ => format!("{name}_{}", same + 1),
        };
        apps.push((name, workload));
    }
    match apps.len() > MOST_WORKLOADS {
        true => fault(
            node,
            path,
            format!("{MOST_WORKLOADS} workloads at most are allowed"),
        ),
        false => Ok(apps),
    }
}

fn app(node: &Node, path: &str) -> Result<(String, Workload), Error> {
    let mut node = node.clone();
    let name = node
        .take("name")
        .map(|name| text(&name, path))
        .transpose()?;
    let workload = workload_of(&node, path)?;
    let kind = workload.name();
    if matches!(kind, "bulk" | "onoff") {
        let message = match kind {
            "bulk" => "\"bulk\" needs no asking for: \"loads\" says it",
            _ => "\"onoff\" sends one way, and a server of tests only echoes",
        };
        return fault(&node, path, message);
    }
    Ok((name.unwrap_or_else(|| kind.to_owned()), workload))
}

/// The items of an array, or one thing that stands for itself.
fn each<T>(
    node: &Node,
    path: &str,
    read_one: impl Fn(&Node, &str) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    match &node.value {
        Value::Array(items) => items.iter().map(|item| read_one(item, path)).collect(),
        _ => Ok(vec![read_one(node, path)?]),
    }
}

fn list<T: fmt::Display>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(T::to_string).collect();
    items.join("+")
}

fn shown_apps(apps: &Apps) -> String {
    let shown = |(name, workload): &(String, Workload)| {
        let plain = Node::text(Origin::Nowhere, workload.name());
        match workload_of(&plain, "") {
            Ok(usual) if usual == *workload => name.clone(),
            // Its parameters tell it from others of its name.
            _ => format!("{name} {workload:?}"),
        }
    };
    match apps.is_empty() {
        true => "none".to_owned(),
        false => apps.iter().map(shown).collect::<Vec<_>>().join("+"),
    }
}
