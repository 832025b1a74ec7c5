//! Table of a sweep: one line per test, load and direction.

use unbloat_loadtest::{Findings, Options};
use unbloat_units::{Bytes, Delta, Direction, Rate};

const HEADS: [&str; 9] = [
    "congestion control",
    "receive window",
    "stage",
    "way",
    "delivered",
    "added p50",
    "p95",
    "in flight",
    "RPM",
];

/// The lines of one test.
pub fn lines(options: &Options, findings: &Findings) -> Vec<[String; 9]> {
    let control = options.congestion_control.clone();
    let window = options.receive_window.map(|window| window.to_string());
    let [control, window] =
        [control, window].map(|set| set.unwrap_or_else(|| "default".to_owned()));
    let mut lines = Vec::new();
    for found in &findings.loads {
        for direction in Direction::BOTH
            .into_iter()
            .filter(|way| found.load.has(*way))
        {
            let added = found.added_of(direction);
            lines.push([
                control.clone(),
                window.clone(),
                found.load.name().to_owned(),
                direction.name().to_owned(),
                shown(found.delivered[direction], |rate| Rate::to_string(&rate)),
                shown(added.map(|added| added.p50.value), ms),
                shown(added.map(|added| added.p95.value), ms),
                shown(found.in_flight[direction], kb),
                shown(found.rpm, |rpm| rpm.to_string()),
            ]);
        }
    }
    lines
}

/// All lines below one header, columns aligned.
pub fn text(lines: &[[String; 9]]) -> String {
    let head = HEADS.map(str::to_owned);
    let all = || std::iter::once(&head).chain(lines);
    let widths: [usize; 9] =
        std::array::from_fn(|i| all().map(|line| line[i].chars().count()).max().unwrap_or(0));
    let line = |line: &[String; 9]| {
        let cells = line.iter().zip(widths);
        let cells: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    all().map(line).collect()
}

fn shown<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "?".to_owned(), show)
}

fn ms(span: Delta) -> String {
    format!("{:.1} ms", span.as_ms())
}

fn kb(size: Bytes) -> String {
    format!("{:.0} kB", size.as_u64() as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_under_their_heads() {
        let line = |control: &str| {
            let mut line: [String; 9] = std::array::from_fn(|_| "1".to_owned());
            line[0] = control.to_owned();
            line
        };
        let text = text(&[line("cubic"), line("a very long name of one")]);
        let places: Vec<_> = text
            .lines()
            .skip(1)
            .map(|shown| shown.find("  1"))
            .collect();
        assert_eq!(places, [Some(23), Some(23)], "{text}");
        assert_eq!(text.lines().next().unwrap().find("receive"), Some(25));
    }
}
