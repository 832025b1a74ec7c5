//! Figures and their verdicts as text for a terminal.

use super::words::{number, numbers, sentence, with_label};
use crate::terminal::wrap;
use std::fmt::Write;
use unbloat_paper::{Curve, Made, Panel, Verdict};

/// Points of a curve that the text lists; longer curves are for tables and report.
const LISTED: usize = 12;

/// All figures, for a terminal of so many columns, and a summary if there are several.
pub fn paper_text(made: &[Made], width: usize) -> String {
    let mut text = String::new();
    for one in made {
        figure(&mut text, one, width);
    }
    if made.len() > 1 {
        summary(&mut text, made);
    }
    text
}

// Writing to a String cannot fail.
fn figure(text: &mut String, made: &Made, width: usize) {
    let figure = made.figure;
    let _ = writeln!(
        text,
        "{} {}: {}",
        made.paper.venue, figure.label, figure.title
    );
    wrap(text, &sentence(made), width);
    for (claim, judgement) in figure.claims.iter().zip(&made.judged.claims) {
        let sign = match judgement.holds {
            Some(true) => '+',
            Some(false) => '-',
            None => '?',
        };
        let note = if claim.tests_analysis {
            " (tests the analysis)"
        } else {
            ""
        };
        wrap(text, &format!("{sign} {}{note}", claim.says), width);
        let _ = writeln!(text, "      {}", numbers(claim, judgement));
    }
    for (panel, drawn) in figure.panels.iter().zip(&made.drawn) {
        curves(text, panel, &drawn.curves, &drawn.ticks, width);
    }
    for (assumption, effects) in figure.assumptions.iter().zip(&made.judged.effects) {
        let mut line = format!("Assumed: {} {}", assumption.parameter, assumption.value);
        let unit = assumption
            .effect
            .as_ref()
            .map_or("", |effect| effect.unit.name());
        for effect in effects {
            let ours = effect
                .ours
                .map_or("none".to_owned(), |ours| number(ours.mean));
            let _ = write!(line, "; with {}: {ours} {unit}", effect.value);
        }
        wrap(text, line.trim_end(), width);
    }
    for note in &made.notes {
        wrap(text, &format!("Note: {note}"), width);
    }
    text.push('\n');
}

/// Curves that share their abscissas as one table, long ones by their extremes.
fn curves(text: &mut String, panel: &Panel, curves: &[Curve], ticks: &[String], width: usize) {
    let x_label = with_label(&panel.x.label, panel.x.unit.name());
    let y_label = with_label(&panel.y.label, panel.y.unit.name());
    let name = match panel.id.as_str() {
        "" => panel.title.clone(),
        id => format!("({id}) {}", panel.title),
    };
    let _ = writeln!(text, "  {name} [{y_label}]");
    let mut abscissas: Vec<f64> = Vec::new();
    for point in curves.iter().flat_map(|curve| &curve.points) {
        if !abscissas.contains(&point.x) && abscissas.len() <= LISTED {
            abscissas.push(point.x);
        }
    }
    if abscissas.len() > LISTED {
        return extremes(text, curves, &x_label, width);
    }
    let at = |x: f64| match ticks.get(x as usize) {
        Some(tick) => tick.clone(),
        None => number(x),
    };
    let mut lines = vec![vec![x_label]];
    lines[0].extend(abscissas.iter().map(|x| at(*x)));
    for curve in curves {
        let mut line = vec![curve.name.clone()];
        line.extend(abscissas.iter().map(|x| {
            let point = curve.points.iter().find(|point| point.x == *x);
            point.map_or("-".to_owned(), |point| number(point.y))
        }));
        lines.push(line);
    }
    aligned(text, lines, width);
}

fn extremes(text: &mut String, curves: &[Curve], x_label: &str, width: usize) {
    let head = ["", "min", "mean", "max", x_label]
        .map(str::to_owned)
        .to_vec();
    let mut lines = vec![head];
    for curve in curves {
        let ys = || curve.points.iter().map(|point| point.y);
        let (Some(first), Some(last)) = (curve.points.first(), curve.points.last()) else {
            lines.push(vec![curve.name.clone()]);
            continue;
        };
        lines.push(vec![
            curve.name.clone(),
            number(ys().fold(f64::INFINITY, f64::min)),
            number(ys().sum::<f64>() / curve.points.len() as f64),
            number(ys().fold(f64::NEG_INFINITY, f64::max)),
            format!("{} to {}", number(first.x), number(last.x)),
        ]);
    }
    aligned(text, lines, width);
}

/// Columns as wide as their widest cell; turned into a list if a line does not fit the terminal.
fn aligned(text: &mut String, mut lines: Vec<Vec<String>>, width: usize) {
    let taken: usize = column_widths(&lines).iter().map(|cells| cells + 2).sum();
    if taken + 4 > width {
        // A row becomes a column: few curves, many abscissas.
        let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
        let cell = |line: &Vec<String>, at: usize| line.get(at).cloned().unwrap_or_default();
        lines = (0..columns)
            .map(|at| lines.iter().map(|line| cell(line, at)).collect())
            .collect();
    }
    let widths = column_widths(&lines);
    for line in &lines {
        let mut out = String::from("    ");
        for ((column, cell), cells) in line.iter().enumerate().zip(&widths) {
            let _ = match column {
                0 => write!(out, "{cell:<cells$}"),
                _ => write!(out, "  {cell:>cells$}"),
            };
        }
        text.push_str(out.trim_end());
        text.push('\n');
    }
}

fn column_widths(lines: &[Vec<String>]) -> Vec<usize> {
    let mut widths = Vec::new();
    for line in lines {
        widths.resize(widths.len().max(line.len()), 0);
        for (widest, cell) in widths.iter_mut().zip(line) {
            *widest = cell.chars().count().max(*widest);
        }
    }
    widths
}

/// How many figures there are, and how many agree.
pub fn paper_headline(made: &[Made]) -> String {
    let counted = Verdict::ALL.map(|verdict| {
        let count = made
            .iter()
            .filter(|one| one.judged.verdict == verdict)
            .count();
        format!("{count} {}", verdict.name())
    });
    let noun = match made.len() {
        1 => "figure or table",
        _ => "figures and tables",
    };
    format!("{} {noun}: {}", made.len(), counted.join(", "))
}

fn summary(text: &mut String, made: &[Made]) {
    for one in made {
        let name = format!("{} {}", one.paper.id, one.figure.id);
        let _ = writeln!(text, "{name:<28}{}", one.judged.verdict.name());
    }
    let _ = writeln!(text, "{}", paper_headline(made));
}
