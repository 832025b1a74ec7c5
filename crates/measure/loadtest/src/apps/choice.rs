//! Which applications run.

use unbloat_workload::{Config, NAMES};

/// Workloads that can be run on a live path.
pub const SUPPORTED: &[&str] = &[
    "finite", "web", "page", "ranges", "video", "voice", "game", "ping",
];

/// One application, by the name under which its results stand.
#[derive(Clone, Debug, PartialEq)]
pub struct App {
    pub name: String,
    pub config: Config,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    #[error("there is no workload {0:?}; the workloads are {known}", known = SUPPORTED.join(", "))]
    Unknown(String),
    #[error("\"bulk\" need not be requested: the stages of a test already load the path with it")]
    Bulk,
    #[error(
        "{0:?} cannot run on a live path: it sends datagrams in one direction, but servers only echo"
    )]
    OneWay(String),
    #[error("{0:?} runs in \"sim\" and \"lab\" only; for a live path use web or finite")]
    ExperimentOnly(String),
    #[error("\"traceroute\" runs in \"sim\" only; for a live path use unbloat locate")]
    Traceroute,
}

impl App {
    /// One that can be run.
    pub fn new(name: impl Into<String>, config: Config) -> Result<App, ChoiceError> {
        match config {
            Config::Bulk(_) => Err(ChoiceError::Bulk),
            Config::Traceroute(_) => Err(ChoiceError::Traceroute),
            Config::OnOff(_) => Err(ChoiceError::OneWay(config.name().to_owned())),
            Config::Transfers(_) | Config::Browse(_) => {
                Err(ChoiceError::ExperimentOnly(config.name().to_owned()))
            }
            config => Ok(App {
                name: name.into(),
                config,
            }),
        }
    }

    /// Workloads with their defaults, as in `web,voice,video`; one that is named twice runs twice.
    pub fn list(names: &str) -> Result<Vec<App>, ChoiceError> {
        let names = names
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty());
        let mut apps: Vec<App> = Vec::new();
        for name in names {
            let same = apps.iter().filter(|app| app.config.name() == name).count();
            let own = match same {
                0 => name.to_owned(),
                _ => format!("{name}_{}", same + 1),
            };
            apps.push(App::new(own, default(name)?)?);
        }
        Ok(apps)
    }

    pub(crate) fn needs_datagrams(&self) -> bool {
        matches!(
            self.config,
            Config::Voice(_) | Config::Game(_) | Config::Ping(_)
        )
    }
}

fn default(name: &str) -> Result<Config, ChoiceError> {
    let unknown = || ChoiceError::Unknown(name.to_owned());
    let name = NAMES
        .iter()
        .find(|known| **known == name)
        .ok_or_else(unknown)?;
    let empty = serde_json::Value::Object(serde_json::Map::new());
    let read = Config::read(name, empty).ok_or_else(unknown)?;
    Ok(read.expect("every parameter of a workload has a default"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_supported_workload_can_be_named() {
        let apps = App::list(&SUPPORTED.join(", ")).unwrap();
        let names: Vec<_> = apps.iter().map(|app| app.name.as_str()).collect();
        assert_eq!(names, SUPPORTED);
    }

    #[test]
    fn one_that_is_named_twice_runs_twice() {
        let apps = App::list("web,voice,web").unwrap();
        let names: Vec<_> = apps.iter().map(|app| app.name.as_str()).collect();
        assert_eq!(names, ["web", "voice", "web_2"]);
    }

    #[test]
    fn what_cannot_be_run_is_refused_with_the_reason() {
        for name in NAMES {
            assert_eq!(App::list(name).is_ok(), SUPPORTED.contains(name), "{name}");
        }
        assert_eq!(App::list("web,bulk"), Err(ChoiceError::Bulk));
        let error = App::list("viedo").unwrap_err().to_string();
        assert!(
            error.contains("viedo") && error.contains("video"),
            "{error}"
        );
    }
}
