//! The comparison as a document, and every flow as a line of CSV for those who doubt it.

use super::Compared;
use super::compare::{Comparison, compare, summary};
use super::flow::{Direction, Flows, Key};
use super::quantity::{Defined, QUANTITIES, Quantity, Summary};

const HEAD: &str = "\
# Agreement with tcptrace and tshark

This page compares the counts and round-trip times of unbloat with those of tcptrace and tshark on the same captures, and explains
the differences. `bench/agreement/run` generates the tables, with `tcptrace -l -r -n` and tshark's `tcp.analysis`; the explanations
after the tables are hand-written. `base` is the committed capture of the benchmark; the others are new runs of the lab.

| term | meaning |
|---|---|
| direction | the data of one side of one connection |
| equal | directions with the same value in both tools (times: within the 0.1 ms that tcptrace prints), of those for which at least one of the two tools reports a value |
| + n by definition | n further directions differ, and a recount of the packets by each tool's own definition gives both values exactly |

Means are over directions.

";

pub fn markdown(compared: &[Compared], explanations: &str) -> String {
    let mut text = HEAD.to_owned();
    for c in compared {
        text += &section(c);
    }
    text + explanations
}

fn section(c: &Compared) -> String {
    let mut text = format!(
        "## {}\n\nConnections: unbloat {}, tcptrace {}, tshark {}.\n\n\
         | quantity | unbloat | tcptrace | equal | tshark | equal |\n|---|---|---|---|---|---|\n",
        c.name,
        c.ours.len(),
        c.tcptrace.len(),
        c.tshark.len()
    );
    for quantity in &QUANTITIES {
        let (theirs, equal) = cells(c, &c.tcptrace, quantity, |d| d.tcptrace);
        let (sharks, shark_equal) = if quantity.tshark {
            cells(c, &c.tshark, quantity, |d| d.tshark)
        } else {
            ("-".to_owned(), "-".to_owned())
        };
        let ours = number(summary(&c.ours, quantity), quantity);
        text += &format!(
            "| {} | {ours} | {theirs} | {equal} | {sharks} | {shark_equal} |\n",
            quantity.name
        );
    }
    text + "\n"
}

fn cells(
    c: &Compared,
    theirs: &Flows,
    quantity: &Quantity,
    defined: fn(&Defined) -> Option<f64>,
) -> (String, String) {
    let comparison = compare(&c.ours, theirs, quantity, &c.recounts, defined);
    (
        number(summary(theirs, quantity), quantity),
        equal(&comparison),
    )
}

fn equal(comparison: &Comparison) -> String {
    let Comparison {
        directions,
        equal,
        explained,
    } = *comparison;
    if directions == 0 {
        return "none".to_owned();
    }
    // Cut, not rounded: 100 % is all of them.
    let permille = (1000 * equal / directions) as f64;
    let explained = if explained > 0 {
        format!(" + {explained} by definition")
    } else {
        String::new()
    };
    format!("{:.1} % of {directions}{explained}", permille / 10.0)
}

fn number(value: Option<f64>, quantity: &Quantity) -> String {
    match (value, quantity.summary) {
        (None, _) => "-".to_owned(),
        (Some(value), Summary::Total) => format!("{value:.0}"),
        (Some(value), Summary::Mean) => format!("{value:.2}"),
    }
}

/// One line a direction and tool.
pub fn csv(c: &Compared) -> String {
    let names: Vec<String> = QUANTITIES.iter().map(|q| q.name.replace(',', "")).collect();
    let mut text = format!("tool,from,to,earlier,{}\n", names.join(","));
    for (tool, flows) in [
        ("unbloat", &c.ours),
        ("tcptrace", &c.tcptrace),
        ("tshark", &c.tshark),
    ] {
        for (key, connection) in flows {
            for (i, direction) in connection.iter().enumerate() {
                text += &csv_line(tool, key, i, direction);
            }
        }
    }
    text
}

fn csv_line(tool: &str, key: &Key, i: usize, direction: &Direction) -> String {
    let (from, to) = if i == 0 {
        (key.low, key.high)
    } else {
        (key.high, key.low)
    };
    let values = QUANTITIES.iter().map(|q| (q.of)(direction));
    let values = values.map(|v| v.map_or_else(String::new, |v| v.to_string()));
    let values: Vec<String> = values.collect();
    format!("{tool},{from},{to},{},{}\n", key.earlier, values.join(","))
}
