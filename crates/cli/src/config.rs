//! Defaults of options, from a file of the user and one of the system.
//!
//! A table for each command, its keys the long options as they are typed, or the arguments without a name:
//!
//! ```toml
//! [test]
//! target = "box"
//! stages = "3 s,20 s,20 s,0 s"
//! ```
//!
//! A value takes the place of the option's default; the command line, and the environment where an option has a variable, come first.

use clap::{Arg, ArgAction, Command};
use rustix::process::geteuid;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use toml::{Table, Value};
use unbloat_experiment::scenario::toml::did_you_mean;
use unbloat_os::user::has_more_rights;
use unbloat_os::{files as opened, folders};

/// Names the only file that is read.
const VARIABLE: &str = "UNBLOAT_CONFIG";

/// Of such a file.
const LONGEST: u64 = 1 << 20;

const SYSTEM: &str = "/etc/unbloat/config.toml";

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read {path}: {source}", path = path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{path}: {text}", path = path.display())]
    Toml { path: PathBuf, text: String },
    #[error("{path}: {why}; root reads only files of root that nobody else can write", path = path.display())]
    Foreign { path: PathBuf, why: &'static str },
    #[error("{path}: {key}: {why}", path = path.display())]
    Key {
        path: PathBuf,
        key: String,
        why: String,
    },
}

/// The files that may be there; the later ones come before the earlier ones.
pub fn files() -> Vec<PathBuf> {
    if let Some(only) = std::env::var_os(VARIABLE).filter(|_| !has_more_rights()) {
        return vec![PathBuf::from(only)];
    }
    let own = folders::config().map(|dir| dir.join("config.toml"));
    [Some(PathBuf::from(SYSTEM)), own]
        .into_iter()
        .flatten()
        .collect()
}

/// The commands, with the defaults of these files.
pub fn with_defaults(mut tree: Command, files: &[PathBuf]) -> Result<Command, ConfigError> {
    for path in files {
        if let Some(table) = read(path)? {
            tree = of_commands(tree, &table, path, "")?;
        }
    }
    Ok(tree)
}

/// None if there is no such file, or in a home of somebody else, as `sudo -u` leaves it.
fn read(path: &Path) -> Result<Option<Table>, ConfigError> {
    let failed = |source| ConfigError::Read {
        path: path.to_owned(),
        source,
    };
    if path == Path::new("/dev/null") {
        return Ok(None);
    }
    let is_named = std::env::var_os(VARIABLE).is_some_and(|only| only == path);
    let file = match opened::open_named(path) {
        Err(error) if is_absence(error.kind()) && !is_named => return Ok(None),
        file => file.map_err(failed)?,
    };
    // An option may name a command that root then runs. Asked of the open file: another may take its name in the meantime.
    let meta = file.metadata().map_err(failed)?;
    let is_root = geteuid().is_root();
    // A link of another user leads to whatever file of root that user likes.
    let is_link_of_another = || fs::symlink_metadata(path).is_ok_and(|link| link.uid() != 0);
    let why = match () {
        () if !is_root => None,
        () if meta.uid() != 0 || is_link_of_another() => Some("it belongs to another user"),
        () if meta.mode() & 0o022 != 0 => Some("other users can write to it"),
        () => None,
    };
    if let Some(why) = why {
        let path = path.to_owned();
        return Err(ConfigError::Foreign { path, why });
    }
    let text = opened::text(file, LONGEST).map_err(failed)?;
    let table = text.parse().map_err(|source: toml::de::Error| {
        // What root may read is not quoted to others.
        let fault = match is_root {
            true => source.message().to_owned(),
            false => source.to_string(),
        };
        let path = path.to_owned();
        ConfigError::Toml { path, text: fault }
    })?;
    Ok(Some(table))
}

fn is_absence(kind: ErrorKind) -> bool {
    let absences = [
        ErrorKind::NotFound,
        ErrorKind::NotADirectory,
        ErrorKind::PermissionDenied,
    ];
    absences.contains(&kind)
}

fn of_commands(
    mut tree: Command,
    table: &Table,
    path: &Path,
    above: &str,
) -> Result<Command, ConfigError> {
    for (name, value) in table {
        let key = match above {
            "" => name.clone(),
            above => format!("{above}.{name}"),
        };
        let wrong = |why: String| ConfigError::Key {
            path: path.to_owned(),
            key: key.clone(),
            why,
        };
        let known: Vec<&str> = tree.get_subcommands().map(Command::get_name).collect();
        tree = match value {
            Value::Table(inner) if known.contains(&name.as_str()) => {
                let mut result = Ok(());
                let changed = tree.mut_subcommand(name, |command| {
                    match of_commands(command.clone(), inner, path, &key) {
                        Ok(changed) => changed,
                        Err(error) => {
                            result = Err(error);
                            command
                        }
                    }
                });
                result?;
                changed
            }
            Value::Table(_) => {
                let near = did_you_mean(name, &known);
                let known = known.join(", ");
                return Err(wrong(format!("no such command{near} (known: {known})")));
            }
            _ if above.is_empty() => {
                return Err(wrong(
                    "not in the table of a command, such as [test]".to_owned(),
                ));
            }
            value => {
                let found = tree
                    .get_arguments()
                    .find(|arg| key_of(arg) == name.as_str());
                let Some(arg) = found else {
                    let options: Vec<&str> = tree.get_arguments().map(key_of).collect();
                    let near = did_you_mean(name, &options);
                    return Err(wrong(format!("no such option of this command{near}")));
                };
                let id = arg.get_id().clone();
                let given = words(arg, value).map_err(wrong)?;
                tree.mut_arg(id, |own| match given.is_empty() {
                    true => own,
                    false => own.required(false).default_values(given),
                })
            }
        };
    }
    Ok(tree)
}

/// The key of an argument: its long option, or its name where it has none.
fn key_of(arg: &Arg) -> &str {
    arg.get_long().unwrap_or(arg.get_id().as_str())
}

/// The values of an option; none for a switch that is off.
fn words(arg: &Arg, value: &Value) -> Result<Vec<String>, String> {
    let is_switch = matches!(arg.get_action(), ArgAction::SetTrue);
    let takes_many = matches!(arg.get_action(), ArgAction::Append);
    match (value, is_switch) {
        (Value::Boolean(on), true) => Ok(on.then(|| "true".to_owned()).into_iter().collect()),
        (_, true) => Err("true or false is expected".to_owned()),
        (Value::Array(all), false) if takes_many => all.iter().map(word).collect(),
        (value, false) => Ok(vec![word(value)?]),
    }
}

fn word(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        other => Err(format!(
            "{} is no value; write it as on the command line, in quotes",
            other.type_str()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::tree;

    fn parsed(config: &str, words: &[&str]) -> Result<clap::ArgMatches, String> {
        let table: Table = config.parse().unwrap();
        let tree = of_commands(tree(), &table, Path::new("config.toml"), "");
        let tree = tree.map_err(|error| error.to_string())?;
        let all = [&["unbloat"], words].concat();
        tree.try_get_matches_from(all)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_value_is_a_default_and_the_command_line_comes_first() {
        let config = "[analyze]\nthreads = 3\nquiet = true\n[sqm.apply]\ninterface = 'wan0'\n";
        let of = |words: &[&str], name: &str| {
            let matches = parsed(config, words).unwrap();
            let (_, own) = matches.subcommand().unwrap();
            own.get_raw(name)
                .unwrap()
                .map(|value| value.to_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(of(&["analyze", "a.pcap"], "threads"), ["3"]);
        assert_eq!(
            of(&["analyze", "a.pcap", "--threads", "1"], "threads"),
            ["1"]
        );
        assert_eq!(of(&["analyze", "a.pcap"], "quiet"), ["true"]);
        let matches = parsed(config, &["sqm", "apply", "--rate-up", "1 Mbit/s"]).unwrap();
        let (_, sqm) = matches.subcommand().unwrap();
        let (_, apply) = sqm.subcommand().unwrap();
        let mut interface = apply.get_raw("interface").unwrap();
        assert_eq!(interface.next().unwrap(), "wan0");
    }

    #[test]
    fn a_server_can_be_a_default() {
        let none = parsed("", &["test"]).unwrap();
        let (_, without) = none.subcommand().unwrap();
        assert!(without.get_raw("target").is_none());
        assert!(parsed("", &["locate"]).is_err());
        let matches = parsed("[test]\ntarget = 'box'", &["test"]).unwrap();
        let (_, test) = matches.subcommand().unwrap();
        assert_eq!(test.get_raw("target").unwrap().next().unwrap(), "box");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (config, part) in [
            (
                "[tset]\n",
                "config.toml: tset: no such command; did you mean \"test\"? (known: ",
            ),
            (
                "[test]\nstage = '3 s'",
                "test.stage: no such option of this command; did you mean \"stages\"?",
            ),
            (
                "[test]\nrat = 1",
                "config.toml: test.rat: no such option of this command",
            ),
            (
                "rate = 1",
                "config.toml: rate: not in the table of a command",
            ),
            (
                "[analyze]\nquiet = 1",
                "config.toml: analyze.quiet: true or false is expected",
            ),
            (
                "[test]\ntarget = [1]",
                "config.toml: test.target: array is no value",
            ),
        ] {
            let error = parsed(config, &["test"]).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
