//! Verdicts and the measurements behind them, as text.

use std::fmt::Write;
use unbloat_locate::{Finding, HopKind, HopReport, PEER, Verdict};
use unbloat_locate_host::Located;
use unbloat_text::{Table, Tone};
use unbloat_units::Delta;

/// A sentence and a table of hops for each load, then unusual events.
/// For so many columns of a terminal; none: as wide as it is.
pub fn text(located: &Located, columns: Option<usize>) -> String {
    let mut text = String::new();
    for verdict in &located.verdicts {
        // Writing to a String cannot fail.
        let _ = block(&mut text, verdict, columns);
    }
    if located.verdicts.is_empty() {
        text += "No verdict: no load was measured.\n";
    }
    let hops = located.verdicts.iter().flat_map(|verdict| &verdict.hops);
    let mut peers = hops.filter(|hop| hop.hop == PEER);
    if peers.any(|peer| peer.kind == HopKind::Silent) {
        text += "The peer did not answer, so the local link cannot be distinguished from the access line. Give a --peer that answers echo requests.\n";
    }
    let counts = located.counts;
    let odd = [
        (counts.foreign, "answers that match no probe"),
        (
            counts.ambiguous,
            "answers that quote too little of the probe",
        ),
        (counts.malformed, "messages that are not valid answers"),
        (counts.repeated, "duplicate answers"),
        (
            counts.refused,
            "probes that this host rejected or could not pass to a next hop",
        ),
    ];
    for (count, what) in odd.into_iter().filter(|(count, _)| *count > 0) {
        let _ = writeln!(text, "{count} {what}");
    }
    text
}

fn block(text: &mut String, verdict: &Verdict, columns: Option<usize>) -> std::fmt::Result {
    let tone = match verdict.finding {
        Finding::Queue { .. } => Tone::Bad,
        Finding::NoQueue { .. } => Tone::Good,
        Finding::Inconclusive(_) => Tone::Fair,
    };
    writeln!(text, "{}", tone.paint_first(&verdict.to_string()))?;
    let mut table = Table::new(3).head([
        "hop",
        "address",
        "kind",
        "idle",
        "load",
        "added",
        "of the path",
        "answered",
    ]);
    verdict.hops.iter().for_each(|hop| table.row(row(hop)));
    writeln!(text, "{}\n", table.text(columns))
}

fn row(hop: &HopReport) -> [String; 8] {
    // Zero has no sign.
    let tenths = |d: Delta| (d.as_ms() * 10.0).round() / 10.0 + 0.0;
    let ms =
        |delta: Option<Delta>| delta.map_or("-".to_owned(), |d| format!("{:.1} ms", tenths(d)));
    let number = match hop.hop {
        PEER => "peer".to_owned(),
        number => number.to_string(),
    };
    let mut address = hop
        .addresses
        .first()
        .map_or("-".to_owned(), ToString::to_string);
    if hop.addresses.len() > 1 {
        let _ = write!(address, " +{}", hop.addresses.len() - 1);
    }
    let sent = (hop.idle_sent + hop.loaded_sent).max(1);
    let answered = 100 * (hop.idle_answered + hop.loaded_answered) / sent;
    [
        number,
        address,
        hop.kind.name().to_owned(),
        ms(hop.idle_p50),
        ms(hop.loaded_p50),
        ms(hop.added),
        ms(hop.persisting),
        format!("{answered} %"),
    ]
}
