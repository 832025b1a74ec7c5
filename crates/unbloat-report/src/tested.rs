//! The verdict of a test's run, above its figures.

use crate::ReportError;
use crate::html::escape;
use crate::numbers::human;
use unbloat_responsiveness::{Kind, Verdict};
use unbloat_run::RunInfo;

/// Out of `run.json`; None in runs that are not of `unbloat test`.
pub(crate) fn verdict_of(info: &RunInfo) -> Result<Option<Verdict>, ReportError> {
    let stored = info
        .options
        .get("findings")
        .and_then(|findings| findings.get("verdict"));
    let read = stored.map(|stored| serde_json::from_value(stored.clone()));
    read.transpose().map_err(ReportError::Verdict)
}

/// Grade and numbers, then where, what to do, and what casts doubt on it.
pub(crate) fn section(verdict: &Verdict) -> String {
    let class = match verdict.kind {
        Kind::Bloated | Kind::Slight => "bloated",
        Kind::Clean => "clean",
        Kind::Unknown => "inconclusive",
    };
    let advice = verdict.advice.iter().map(|advice| {
        let or = if advice.is_alternative { "Or: " } else { "" };
        let text = escape(&format!("{or}{}", advice.text));
        let because = escape(&advice.evidence.join("; "));
        format!("<li>{text}<br><span class=\"note\">{because}</span></li>")
    });
    let places = verdict.places.iter();
    let places = places.map(|place| format!("<p>{}</p>\n", escape(place)));
    format!(
        "<section class=\"verdict {class}\">\n<h2>{}</h2>\n{}{}<h3>What to do</h3>\n<ul>{}</ul>\n{}</section>\n",
        escape(&verdict.headline),
        tiles(verdict),
        places.collect::<String>(),
        advice.collect::<String>(),
        doubts(verdict)
    )
}

/// None without a grade: the numbers of such a run mean nothing.
fn tiles(verdict: &Verdict) -> String {
    let Some(grade) = &verdict.grade else {
        return String::new();
    };
    let mut tiles = vec![(grade.clone(), "grade of the worse direction".to_owned())];
    for load in &verdict.directions {
        let name = load.direction.load();
        let added_ms = load.added.as_ms().max(0.0);
        tiles.push((
            human(added_ms, "ms"),
            format!("added by {name}s, mean round trip"),
        ));
        tiles.push((load.delivered.to_string(), format!("delivered, {name}")));
    }
    let tiles = tiles.iter().map(|(number, label)| {
        format!(
            "<div><b>{}</b><span>{}</span></div>",
            escape(number),
            escape(label)
        )
    });
    format!("<div class=\"tiles\">{}</div>\n", tiles.collect::<String>())
}

fn doubts(verdict: &Verdict) -> String {
    if verdict.doubts.is_empty() {
        return String::new();
    }
    let items = verdict.doubts.iter();
    let items = items.map(|doubt| format!("<li>{}</li>", escape(&doubt.reason)));
    let items = items.collect::<String>();
    format!("<h3>Warnings</h3>\n<ul class=\"warnings\">{items}</ul>\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_responsiveness::{Direction, Doubt, LoadedDirection, verdict};
    use unbloat_units::{Delta, Rate};

    fn info(doubts: Vec<Doubt>) -> RunInfo {
        let up = LoadedDirection {
            direction: Direction::Up,
            delivered: Rate::mbps(5),
            line: Rate::kbps(5_180),
            is_steady: true,
            added: Delta::ms(778),
            added_p95: Delta::ms(800),
            idle_rtt: Delta::ms(20),
            unsent: None,
            is_starved: false,
            located: None,
        };
        let verdict = verdict(vec![up], doubts);
        let mut info = RunInfo::new("unbloat test", "1", Vec::new());
        let findings = serde_json::json!({ "verdict": verdict });
        info.options.insert("findings".to_owned(), findings);
        info
    }

    #[test]
    fn the_report_of_a_test_begins_with_its_verdict() {
        let verdict = verdict_of(&info(Vec::new())).unwrap().unwrap();
        let html = section(&verdict);
        let parts = [
            "grade F",
            "Uploads add 778 ms",
            "<b>F</b>",
            "5.00 Mbit/s",
            "Shape uploads to 4.92 Mbit/s",
        ];
        for part in parts {
            assert!(html.contains(part), "{part}: {html}");
        }
        let other = RunInfo::new("unbloat sim", "1", Vec::new());
        assert_eq!(verdict_of(&other).unwrap(), None);
    }

    #[test]
    fn a_run_that_tells_nothing_shows_no_numbers_and_hostile_words_stay_words() {
        let doubt = Doubt {
            is_fatal: true,
            reason: "<script>".to_owned(),
        };
        let html = section(&verdict_of(&info(vec![doubt])).unwrap().unwrap());
        assert!(html.contains("No verdict: &lt;script&gt;"), "{html}");
        assert!(!html.contains("<b>"), "{html}");
    }
}
