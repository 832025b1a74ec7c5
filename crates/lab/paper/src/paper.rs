//! A paper's folder.

use crate::figure::{Figure, Panel, Series};
use crate::unit::Unit;
use serde::Deserialize;

/// A paper and its figures, in their order in the paper.
#[derive(Clone, Debug)]
pub struct Paper {
    /// Name of its folder: `imc2012`.
    pub id: String,
    pub title: String,
    pub authors: String,
    pub venue: String,
    pub doi: Option<String>,
    /// What it is about, in a sentence or two.
    pub about: String,
    pub figures: Vec<Figure>,
    /// Scenario files by name.
    pub scenarios: Vec<(String, String)>,
}

/// `paper.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    title: String,
    authors: String,
    venue: String,
    doi: Option<String>,
    about: String,
    /// Names of the figures' files, without `.toml`, in the order of the paper. All other files are scenarios.
    figures: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum PaperError {
    #[error("{paper}/{file}: {message}")]
    Invalid {
        paper: String,
        file: String,
        message: String,
    },
    #[error("{paper}: no file {file:?} in this folder")]
    Missing { paper: String, file: String },
}

/// Reads a paper from the texts of its folder's TOML files, by name.
pub fn read_paper(id: &str, files: &[(String, String)]) -> Result<Paper, PaperError> {
    let text = |name: &str| {
        let found = files.iter().find(|(file, _)| file == name);
        found
            .map(|(_, text)| text.as_str())
            .ok_or_else(|| PaperError::Missing {
                paper: id.to_owned(),
                file: name.to_owned(),
            })
    };
    let invalid = |file: &str, message: String| PaperError::Invalid {
        paper: id.to_owned(),
        file: file.to_owned(),
        message,
    };
    let head: Head = toml::from_str(text("paper.toml")?)
        .map_err(|error| invalid("paper.toml", error.to_string()))?;
    let mut figures = Vec::new();
    for name in &head.figures {
        let file = format!("{name}.toml");
        let mut figure: Figure =
            toml::from_str(text(&file)?).map_err(|error| invalid(&file, error.to_string()))?;
        figure.id.clone_from(name);
        check(&figure, files).map_err(|message| invalid(&file, message))?;
        figures.push(figure);
    }
    let is_scenario = |name: &str| {
        let stem = name.trim_end_matches(".toml");
        name != "paper.toml" && !head.figures.iter().any(|figure| figure == stem)
    };
    Ok(Paper {
        id: id.to_owned(),
        scenarios: files
            .iter()
            .filter(|(name, _)| is_scenario(name))
            .cloned()
            .collect(),
        title: head.title,
        authors: head.authors,
        venue: head.venue,
        doi: head.doi,
        about: head.about,
        figures,
    })
}

/// The text of the scenario `PAPER/FILE`.
pub fn scenario<'a>(papers: &'a [Paper], file: &str) -> Option<&'a str> {
    let (paper, name) = file.split_once('/')?;
    let paper = papers.iter().find(|one| one.id == paper)?;
    let found = paper.scenarios.iter().find(|(known, _)| known == name);
    found.map(|(_, text)| text.as_str())
}

/// Everything that can be wrong before a run.
fn check(figure: &Figure, files: &[(String, String)]) -> Result<(), String> {
    match (&figure.not_made, figure.panels.is_empty()) {
        (None, true) => {
            return Err("a figure needs [[panel]], or `not_made` with a reason".to_owned());
        }
        (Some(_), false) => return Err("a figure with `not_made` has no [[panel]]".to_owned()),
        _ => {}
    }
    for (name, run) in &figure.runs {
        let sources = [
            run.scenario.is_some(),
            run.model.is_some(),
            run.lte_trace.is_some(),
        ];
        if sources.into_iter().filter(|is_given| *is_given).count() != 1 {
            return Err(format!(
                "run.{name}: give one of `scenario`, `model` and `lte_trace`"
            ));
        }
        if let Some(file) = &run.scenario
            && !file.contains('/')
            && !files.iter().any(|(known, _)| known == file)
        {
            return Err(format!("run.{name}: no scenario {file:?} in this folder"));
        }
    }
    let known = |run: &str| match figure.runs.contains_key(run) {
        true => Ok(()),
        false => Err(format!("no [run.{run}] in this file")),
    };
    for (panel, number) in figure.panels.iter().zip(1..) {
        for series in &panel.series {
            let place = format!("panel {number}, series {:?}", named(series));
            if series.points.is_empty() {
                known(&series.run).map_err(|message| format!("{place}: {message}"))?;
            }
            if series.name.is_none() == series.each.is_none() {
                return Err(format!("{place}: give one of `name` and `each`"));
            }
            for point in &series.points {
                known(&point.quantity.run).map_err(|message| format!("{place}: {message}"))?;
            }
            converts(series, panel).map_err(|message| format!("{place}: {message}"))?;
        }
        for own in &panel.own {
            let place = format!("panel {number}, own {:?}", named(own));
            if own.name.is_none() == own.each.is_none() {
                return Err(format!("{place}: give one of `name` and `each`"));
            }
            converts(own, panel).map_err(|message| format!("{place}: {message}"))?;
        }
    }
    for claim in &figure.claims {
        if claim.kind().is_none() {
            return Err(format!(
                "claim {:?}: give one of `value`, `above` and `below`, or `more_than` and `less_than`",
                claim.says
            ));
        }
        for quantity in claim.quantities() {
            known(&quantity.run).map_err(|message| format!("claim {:?}: {message}", claim.says))?;
        }
        if let Some(mark) = &claim.mark {
            let panel = figure.panels.iter().find(|panel| panel.id == mark.panel);
            let panel = panel
                .ok_or_else(|| format!("claim {:?}: no panel {:?}", claim.says, mark.panel))?;
            if panel.y.unit != claim.unit {
                return Err(format!(
                    "claim {:?}: its unit is {:?}, that of the panel {:?}",
                    claim.says,
                    claim.unit.name(),
                    panel.y.unit.name()
                ));
            }
        }
    }
    for assumption in &figure.assumptions {
        if let Some(effect) = &assumption.effect {
            known(&effect.on.run)
                .map_err(|message| format!("assumption {:?}: {message}", assumption.parameter))?;
        }
    }
    Ok(())
}

fn named(series: &Series) -> &str {
    let name = series.name.as_ref().or(series.each.as_ref());
    name.map_or("", String::as_str)
}

/// Whether results and columns have the dimensions of the axes.
fn converts(series: &Series, panel: &Panel) -> Result<(), String> {
    if series.change_from.is_some() || series.reference.is_some() {
        // In percent.
        return Ok(());
    }
    fits(series.result.as_deref(), panel.y.unit)?;
    fits(series.y.as_deref(), panel.y.unit)?;
    match series.table {
        Some(_) if panel.x.unit != Unit::Name => fits(series.x.as_deref(), panel.x.unit),
        _ => Ok(()),
    }
}

fn fits(name: Option<&str>, unit: Unit) -> Result<(), String> {
    match name {
        Some(name) if unit.convert(name, 1.0).is_none() => Err(format!(
            "{name} has no unit that converts to {:?}",
            unit.name()
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(figure: &str) -> Vec<(String, String)> {
        let paper =
            "title = \"T\"\nauthors = \"A\"\nvenue = \"V\"\nabout = \"a\"\nfigures = [\"fig1\"]";
        [
            ("paper.toml", paper),
            ("fig1.toml", figure),
            ("line.toml", ""),
        ]
        .map(|(name, text)| (name.to_owned(), text.to_owned()))
        .to_vec()
    }

    const HEAD: &str = "label = \"Figure 1\"\ntitle = \"t\"\nplace = \"1\"\nshows = \"s\"\n";

    #[test]
    fn a_folder_becomes_a_paper_with_scenarios() {
        let figure = format!(
            "{HEAD}[run.main]\nscenario = \"line.toml\"\n[[panel]]\ntitle = \"p\"\nx = {{ label = \"time\", unit = \"s\" }}\n\
             y = {{ label = \"window\", unit = \"kB\" }}\n[[panel.series]]\nname = \"a\"\nrun = \"main\"\ntable = \"window_series\"\n\
             x = \"time_ns\"\ny = \"cwnd_bytes\"\n"
        );
        let paper = read_paper("p2012", &files(&figure)).unwrap();
        assert_eq!(paper.figures[0].id, "fig1");
        assert_eq!(paper.scenarios, [("line.toml".to_owned(), String::new())]);
        let requests = paper.figures[0].requests("p2012");
        assert!(requests["main"].1.tables);
    }

    #[test]
    fn slips_in_a_recipe_are_named() {
        let panel = "[[panel]]\ntitle = \"p\"\nx = { label = \"x\" }\ny = { label = \"y\", unit = \"ms\" }\n";
        let series = "[[panel.series]]\nname = \"a\"\nrun = \"main\"\nx = \"k\"\n";
        let run = "[run.main]\nscenario = \"line.toml\"\n";
        let cases = [
            (HEAD.to_owned(), "needs [[panel]]"),
            (format!("{HEAD}colour = 1\n"), "unknown field `colour`"),
            (
                format!("{HEAD}[run.main]\n{panel}"),
                "give one of `scenario`, `model`",
            ),
            (
                format!("{HEAD}[run.main]\nscenario = \"other.toml\"\n{panel}"),
                "no scenario \"other.toml\"",
            ),
            (format!("{HEAD}{panel}{series}"), "no [run.main]"),
            (
                format!("{HEAD}{run}{panel}{series}result = \"a.goodput_bps\"\n"),
                "converts to \"ms\"",
            ),
            (
                format!("{HEAD}{run}{panel}[[claim]]\nsays = \"c\"\nours = {{ run = \"main\" }}\n"),
                "give one of `value`",
            ),
        ];
        for (figure, expected) in cases {
            let error = read_paper("p2012", &files(&figure))
                .unwrap_err()
                .to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
