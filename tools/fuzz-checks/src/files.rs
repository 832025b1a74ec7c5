//! Files that somebody wrote by hand: traces of links, scenarios, campaigns, configurations.

use super::heap::within;
use super::words::{are_said, is_said};
use std::collections::BTreeSet;
use unbloat_campaign::{Campaign, Only};
use unbloat_compare::Tolerance;
use unbloat_experiment::scenario::toml::{Error, Node};
use unbloat_experiment::scenario::{Amount, Sweep, build, score};
use unbloat_link::trace::{parse_mahimahi, parse_rates};
use unbloat_sqm::{Device, Facts, Shaper, uci};
use unbloat_units::{Both, Bytes, Delta, Rate};

/// The bytes are a trace behind its format. What is read is what a file of ours would say, and memory is in proportion.
pub fn link(bytes: &[u8]) {
    let Some((&format, text)) = bytes.split_first() else {
        return;
    };
    let told = within(64 * text.len() + 4096, || match format & 1 {
        0 => chances(text),
        _ => rates(text),
    });
    if let Err(why) = told {
        is_said(&why);
        assert!(why.len() < 500, "{} bytes of a message", why.len());
    }
}

fn chances(text: &[u8]) -> Result<(), String> {
    let chances = parse_mahimahi(text).map_err(|error| error.to_string())?;
    let all = (0..chances.len()).map(|index| chances.at(index));
    assert!(all.clone().is_sorted() && chances.period() > Delta::ZERO);
    assert_eq!(all.clone().next_back(), Some(chances.period()));
    let written: String = all.map(|at| format!("{}\n", at.as_us() / 1000)).collect();
    assert_eq!(parse_mahimahi(written.as_bytes()), Ok(chances));
    Ok(())
}

fn rates(text: &[u8]) -> Result<(), String> {
    // Beyond, a number of seconds does not hold each nanosecond.
    const EXACT: Delta = Delta::ns(1 << 50);
    let steps = parse_rates(text).map_err(|error| error.to_string())?;
    let most = Rate::bps(1_000_000_000_000);
    assert!(
        steps
            .iter()
            .all(|step| step.span > Delta::ZERO && step.rate <= most)
    );
    assert!(
        steps.iter().any(|step| step.rate > Rate::ZERO),
        "nothing would ever leave"
    );
    let mut written = "seconds,rate_bps\n".to_owned();
    let mut at = Delta::ZERO;
    for step in &steps {
        let (seconds, rest) = (at.as_ns() / 1_000_000_000, at.as_ns() % 1_000_000_000);
        written += &format!("{seconds}.{rest:09},{}\n", step.rate.as_bps());
        at += step.span;
    }
    // The last holds as long as the one before it, and a single one for a second.
    let last = steps.last().map(|step| step.span);
    let before = steps
        .iter()
        .nth_back(1)
        .map_or(Delta::secs(1), |step| step.span);
    assert_eq!(last, Some(before));
    if at < EXACT {
        assert_eq!(parse_rates(written.as_bytes()), Ok(steps));
    }
    Ok(())
}

/// The bytes are a scenario, of which the first and the last point of its sweep are built.
pub fn scenario(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Err(error) = built(text) {
        is_said(error.to_string());
    }
}

fn built(text: &str) -> Result<(), Error> {
    const FILE: &[u8] = b"1\n2\n5\n";
    let mut scenario = Node::parse(text)?;
    score::take(&mut scenario)?;
    let sweep = Sweep::take(&mut scenario)?;
    assert!((1..=1_000_000).contains(&sweep.points()));
    for point in [0, sweep.points() - 1] {
        let scenario = sweep.point(point).apply(&scenario)?;
        let built = within(64 << 20, || build(&scenario, &|_| Ok(FILE.to_vec())))?;
        assert!(built.warmup < built.duration);
        assert!(built.sample_every.is_none_or(|every| every >= Delta::ZERO));
        are_said(&format!("{}\n{}", built.name, built.about));
        built.flows.iter().for_each(|flow| are_said(&flow.name));
    }
    Ok(())
}

/// The bytes are a campaign.
pub fn campaign(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let campaign = match Campaign::parse(text) {
        Ok(campaign) => campaign,
        Err(error) => return is_said(error.to_string()),
    };
    are_said(&format!("{}\n{}", campaign.name, campaign.about));
    let cells = campaign.cells();
    assert!(
        campaign.runs() <= 100_000 && campaign.runs() == cells.len() * campaign.repeats as usize
    );
    let mut ids = BTreeSet::new();
    for cell in &cells {
        let name = cell.run_name(campaign.repeats - 1);
        let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        assert!(
            name.bytes().all(is_fit) && name.len() < 128 && !name.starts_with('.'),
            "{name:?}"
        );
        is_said(cell.title());
        assert!(ids.insert(cell.id.clone()), "two cells are one");
        for (axis, value) in &cell.values {
            let only = Only::parse(&format!("{axis}={value}"), &campaign.axes);
            assert!(axis.contains('=') || only.is_ok_and(|only| only.has(cell)));
        }
    }
    let mut jobs = campaign.jobs();
    assert_eq!(jobs, campaign.left(&BTreeSet::new(), &[]));
    jobs.sort_unstable();
    jobs.dedup();
    assert_eq!(jobs.len(), campaign.runs(), "each run once");
}

/// The bytes are a configuration in UCI. What is read is written so that it is read again, and judged in words.
pub fn configuration(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let sections = match within(64 * text.len() + 4096, || uci::read(&text)) {
        Ok(sections) => sections,
        Err(error) => return is_said(error.to_string()),
    };
    let written = uci::write(&sections);
    let again = uci::read(&written).expect("what is written can be read");
    assert_eq!(without_lines(again), without_lines(sections.clone()));
    let devices = Some(vec!["eth0".to_owned(), "wan".to_owned()]);
    let facts = Facts {
        measured: Both::new(Some(Rate::mbps(20)), Some(Rate::mbps(2))),
        devices,
        outward: vec!["eth0".to_owned()],
        offered: Some(vec!["fq_codel".to_owned()]),
        ..Facts::default()
    };
    for finding in unbloat_sqm::check(&sections, &facts) {
        are_said(&finding.reason);
        are_said(&finding.fix);
    }
    for section in &sections {
        let _ = Shaper::read(section).framing();
    }
}

fn without_lines(mut sections: Vec<uci::Section>) -> Vec<uci::Section> {
    for section in &mut sections {
        section.line = 0;
        section.options.iter_mut().for_each(|entry| entry.line = 0);
    }
    sections
}

/// The bytes are a value of an option behind its kind.
pub fn value(bytes: &[u8]) {
    let Some((&kind, text)) = bytes.split_first() else {
        return;
    };
    let text = &*String::from_utf8_lossy(text);
    // f64 holds each whole number up to there.
    const EXACT: u64 = 1 << 53;
    let refused = match kind % 8 {
        0 => text.parse::<Rate>().map(|rate| {
            let again = format!("{} bit/s", rate.as_bps()).parse();
            assert!(rate.as_bps() > EXACT || again == Ok(rate));
        }),
        1 => text.parse::<Delta>().map(|span| {
            let again = format!("{} ns", span.as_ns()).parse();
            assert!(!span.is_negative());
            assert!(span.as_ns() as u64 > EXACT || again == Ok(span));
        }),
        2 => text.parse::<Bytes>().map(|size| {
            let again = format!("{} B", size.as_u64()).parse();
            assert!(size.as_u64() > EXACT || again == Ok(size));
        }),
        3 => return amount(text),
        4 => return tolerance(text),
        _ => return device(text),
    };
    if let Err(error) = refused {
        is_said(error.to_string());
    }
}

fn amount(text: &str) {
    match text.parse::<Amount>() {
        Err(error) => is_said(error),
        Ok(amount) => {
            for (rate, rtt) in [(Rate::ZERO, Delta::ZERO), (Rate::mbps(10), Delta::ms(100))] {
                let _ = amount.resolve(rate, rtt);
            }
        }
    }
}

fn tolerance(text: &str) {
    match text.parse::<Tolerance>() {
        Err(error) => is_said(error.to_string()),
        Ok(tolerance) => {
            let shown = tolerance.to_string();
            let again = shown.parse::<Tolerance>().expect("as it is shown");
            assert_eq!(again.to_string(), shown);
        }
    }
}

/// A name that stands in commands.
fn device(name: &str) {
    match name.parse::<Device>() {
        Err(error) => is_said(error.to_string()),
        Ok(device) => {
            let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"._@:-".contains(&byte);
            for shown in [device.to_string(), device.ifb().to_string()] {
                assert!((1..16).contains(&shown.len()) && shown.bytes().all(is_fit));
                assert!(!shown.starts_with('-'));
            }
        }
    }
}
