//! When the server's program, or this one, stood still: that time says nothing of the path.
//!
//! A program that stands still answers nothing, and then everything at once, while its kernel answers as ever: echo requests of ICMP and handshakes of TCP. So it
//! is told from the line. A line that is gone for a while gives no answer of the kernel either, and a queue gives back what waits in it one after the other.

use super::echoes::pace;
use crate::measured::{Echo, Fate, Measured, ProbeKind};
use unbloat_units::{Delta, Time};

type Span = (Time, Time);

/// A silence of the server: what is shorter changes a mean by little.
const LEAST: Delta = Delta::ms(300);
/// Of this program, and in intervals of its datagrams: on a busy machine shorter ones come and go.
const OWN_LEAST: Delta = Delta::secs(1);
const OWN_INTERVALS: i64 = 4;
/// What arrives within this time, or this part of the silence, came at once.
const AT_ONCE: Delta = Delta::ms(50);
const AT_ONCE_PART: i64 = 10;
/// The kernel was prompt if its answer took no longer than datagrams before, and this part of the silence.
const PROMPT_PART: i64 = 4;
/// Datagrams that came at once, and answers of the kernel, that prove it.
const ENOUGH: usize = 3;
const ENOUGH_PROMPT: usize = 2;
/// After a silence TCP begins anew: for that long rates are not the line's.
pub(super) const RECOVERY: Delta = Delta::ms(500);

/// A time in which a program stood still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    pub from: Time,
    pub to: Time,
    /// The server's program; else this one.
    pub is_server: bool,
}

/// All of them, in order of time.
pub(super) fn find(measured: &Measured) -> Vec<Stall> {
    let own = measured.echoes.windows(2).filter_map(|pair| {
        let (from, to) = (pair[0].sent, pair[1].sent);
        let least = OWN_LEAST.max(pace(measured, from) * OWN_INTERVALS);
        // Probes of HTTP, which may stand for datagrams, rest between stages.
        let is_meant =
            measured.server.echo.is_none() && measured.stage_at(from) != measured.stage_at(to);
        (to.since(from) > least && !is_meant).then_some(Stall {
            from,
            to,
            is_server: false,
        })
    });
    let mut stalls: Vec<Stall> = own.chain(of_server(measured)).collect();
    stalls.sort_by_key(|stall| (stall.from, stall.to));
    stalls
}

fn of_server(measured: &Measured) -> Vec<Stall> {
    let mut arrived: Vec<(Time, &Echo)> = measured
        .echoes
        .iter()
        .filter_map(|echo| Some((echo.sent + echo.rtt?, echo)))
        .collect();
    arrived.sort_by_key(|(at, echo)| (*at, echo.seq));
    let kernel = prompt(measured);
    let (Some(floor), true) = (
        measured.echoes.iter().filter_map(|echo| echo.rtt).min(),
        !kernel.is_empty(),
    ) else {
        return Vec::new();
    };
    let silences = arrived
        .windows(2)
        .filter(|pair| pair[1].0 - pair[0].0 >= LEAST);
    let stall = |pair: &[(Time, &Echo)]| {
        let (begin, end) = (pair[0].0, pair[1].0);
        let (last, silence) = (pair[0].1, end.since(begin));
        // With the queues that there are, what left in this time was at the server while it said nothing.
        let rtt = begin.since(last.sent);
        let (since, until) = (last.sent + Delta::ns(1), end - rtt);
        let asked = within(&measured.echoes, since, until, |echo| echo.sent);
        let at_once = end + AT_ONCE.max(silence / AT_ONCE_PART);
        let (back, late) = asked
            .iter()
            .filter_map(|echo| Some(echo.sent + echo.rtt?))
            .fold((0, 0), |(back, late), at| {
                (back + 1, late + usize::from(at > at_once))
            });
        let answers = within(&kernel, since, until - AT_ONCE, |(sent, _)| *sent);
        let most = rtt - floor + silence / PROMPT_PART;
        let is_prompt = |answer: &&(Time, Option<Delta>)| answer.1.is_some_and(|took| took < most);
        let prompt = answers.iter().filter(is_prompt).count();
        let stood = back >= ENOUGH && late * 10 <= back;
        let has_kernel = prompt >= ENOUGH_PROMPT && prompt * 4 >= answers.len() * 3;
        (stood && has_kernel).then_some(Stall {
            from: last.sent,
            to: end,
            is_server: true,
        })
    };
    silences.filter_map(stall).collect()
}

/// What the server's kernel was asked, and what its answer took beyond the least. Nothing if datagrams are echoed by somebody else.
fn prompt(measured: &Measured) -> Vec<(Time, Option<Delta>)> {
    let server = &measured.server;
    let is_same = server
        .address
        .zip(server.echo)
        .is_none_or(|(load, echo)| load.ip() == echo.ip());
    if !is_same {
        return Vec::new();
    }
    let of = |kind| {
        let probes = measured
            .probes
            .iter()
            .filter(move |probe| probe.kind == kind);
        let took = probes.map(|probe| match kind {
            ProbeKind::Icmp => (probe.sent, probe.answer),
            _ => (probe.sent, probe.tcp),
        });
        let took: Vec<(Time, Option<Delta>)> = took.collect();
        let least = took
            .iter()
            .filter_map(|(_, took)| *took)
            .min()
            .unwrap_or(Delta::ZERO);
        took.into_iter()
            .map(move |(at, took)| (at, took.map(|took| took - least)))
    };
    let mut all: Vec<_> = of(ProbeKind::Icmp).chain(of(ProbeKind::Foreign)).collect();
    all.sort_by_key(|(at, _)| *at);
    all
}

/// Of what is in order of time, those of a span.
fn within<T>(all: &[T], from: Time, to: Time, at: impl Fn(&T) -> Time) -> &[T] {
    let begin = all.partition_point(|one| at(one) < from);
    let end = all.partition_point(|one| at(one) < to).max(begin);
    &all[begin..end]
}

/// What was seen, without what was sent while a program stood still.
pub(super) fn without(measured: &Measured, stalls: &[Stall]) -> Measured {
    let is_out = |at: Time| !stalls.iter().any(|stall| stall.from < at && at < stall.to);
    let mut kept = measured.clone();
    // The one before a silence may be lost in it.
    kept.echoes
        .retain(|echo| is_out(echo.sent) && (echo.fate == Fate::Back || is_out(echo.sent + LEAST)));
    kept.probes.retain(|probe| is_out(probe.sent));
    kept
}

/// The parts of a span in which no program stood still or, as long as it did but at most for `recovery`, had just begun anew.
pub(super) fn outside(stalls: &[Stall], (from, to): Span, recovery: Delta) -> Vec<Span> {
    let mut parts = Vec::new();
    let mut at = from;
    for stall in stalls.iter().filter(|stall| stall.from < to) {
        let again = stall.to + recovery.min(stall.to.since(stall.from));
        if stall.from > at {
            parts.push((at, stall.from));
        }
        at = at.max(again);
    }
    if at < to {
        parts.push((at, to));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;
    use crate::findings::findings;
    use crate::measured::Probe;
    use unbloat_responsiveness::Rule;
    use unbloat_units::Direction;

    fn at_ms(ms: i64) -> Time {
        Time::from_ns(ms * 1_000_000)
    }

    /// The sample, its queue emptied, with a ping every 100 ms that takes 20 ms.
    fn clean() -> Measured {
        let mut measured = sample();
        for echo in &mut measured.echoes {
            (echo.added_down, echo.rtt) = (Some(Delta::ZERO), Some(Delta::ms(20)));
        }
        let ping = |i: i64| Probe {
            kind: ProbeKind::Icmp,
            sent: at_ms(i * 100),
            flow: None,
            tcp: None,
            tls: None,
            tcp_resent: false,
            tls_round_trips: 0,
            answer: Some(Delta::ms(20)),
            failure: None,
        };
        measured.probes.extend((0..130).map(ping));
        measured
            .probes
            .sort_by_key(|probe| (probe.sent, probe.kind));
        measured
    }

    /// What is sent between these times is answered from the second on, a datagram each such span.
    fn silent(measured: &mut Measured, (from, to): (i64, i64), each: Delta) {
        let mut next = at_ms(to);
        for echo in &mut measured.echoes {
            if at_ms(from) <= echo.sent && echo.sent < next {
                let rtt = next.since(echo.sent).max(Delta::ms(20));
                (echo.rtt, echo.added_up) = (Some(rtt), Some(rtt - Delta::ms(20)));
                next += each;
            }
        }
    }

    #[test]
    fn a_server_that_stands_still_is_named_and_its_time_left_out() {
        let mut measured = clean();
        silent(&mut measured, (7_000, 9_500), Delta::us(50));
        let [stall] = find(&measured)[..] else {
            panic!("{:?}", find(&measured));
        };
        assert!(stall.is_server && stall.from >= at_ms(6_980) && stall.to <= at_ms(9_500));
        let found = findings(&measured, Rule::DslReports);
        assert_eq!(
            found.verdict.grade.as_deref(),
            Some("A+"),
            "{:?}",
            found.verdict
        );
        let doubts = &found.verdict.doubts;
        assert!(
            doubts.iter().any(|doubt| doubt
                .reason
                .contains("the server answered nothing for 2.5 s")),
            "{doubts:?}"
        );
        let down = found.of(Direction::Down).unwrap();
        assert_eq!(down.delivered.down.unwrap().as_bps() / 1_000_000, 48);
        // More than a third of the stage.
        silent(&mut measured, (7_000, 11_500), Delta::us(50));
        let verdict = findings(&measured, Rule::DslReports).verdict;
        assert!(verdict.grade.is_none() && verdict.headline.starts_with("No verdict"));
    }

    #[test]
    fn a_stall_beside_a_queue_hides_no_queue() {
        let mut measured = clean();
        for echo in &mut measured.echoes[300..] {
            (echo.added_up, echo.rtt) = (Some(Delta::ms(600)), Some(Delta::ms(620)));
        }
        for probe in measured
            .probes
            .iter_mut()
            .filter(|probe| probe.sent >= at_ms(3_000))
        {
            probe.answer = Some(Delta::ms(620));
        }
        // It stands still from 7.61 s on, when the datagram of 7 s arrives, to 9.61 s.
        for echo in &mut measured.echoes[700..900] {
            let waited = at_ms(9_620).since(echo.sent);
            (echo.added_up, echo.rtt) = (Some(waited - Delta::ms(20)), Some(waited));
        }
        let [stall] = find(&measured)[..] else {
            panic!("{:?}", find(&measured));
        };
        assert!(stall.is_server && stall.from >= at_ms(6_980) && stall.to == at_ms(9_620));
        let found = findings(&measured, Rule::DslReports);
        let added = found.of(Direction::Down).unwrap().added_rtt.unwrap();
        assert_eq!(added.mean.value, Delta::ms(600));
    }

    #[test]
    fn a_line_that_is_gone_and_a_queue_that_drains_are_no_stall_of_the_server() {
        // Nothing comes through, ICMP neither.
        let mut outage = clean();
        silent(&mut outage, (7_000, 9_500), Delta::us(50));
        for probe in &mut outage.probes {
            if (at_ms(7_000)..at_ms(9_500)).contains(&probe.sent) {
                probe.answer = Some(at_ms(9_520).since(probe.sent));
            }
        }
        assert_eq!(find(&outage), []);
        assert_ne!(
            findings(&outage, Rule::DslReports).verdict.grade.as_deref(),
            Some("A+")
        );
        // What waited comes one after the other, even where ICMP goes first.
        let mut queue = clean();
        silent(&mut queue, (7_000, 8_000), Delta::ms(8));
        assert_eq!(find(&queue), []);
        // And where its kernel says nothing, nobody knows.
        let mut unknown = clean();
        unknown
            .probes
            .retain(|probe| probe.kind == ProbeKind::SelfHttp);
        silent(&mut unknown, (7_000, 9_500), Delta::us(50));
        assert_eq!(find(&unknown), []);
    }

    #[test]
    fn rates_are_of_the_time_in_which_the_load_ran() {
        let stall = |from, to| Stall {
            from: at_ms(from),
            to: at_ms(to),
            is_server: true,
        };
        let span = (at_ms(3_000), at_ms(10_000));
        let parts = outside(&[stall(4_000, 4_400), stall(6_000, 8_500)], span, RECOVERY);
        let expected = [(3_000, 4_000), (4_800, 6_000), (9_000, 10_000)];
        assert_eq!(parts, expected.map(|(from, to)| (at_ms(from), at_ms(to))));
        assert_eq!(outside(&[], span, RECOVERY), [span]);
        assert_eq!(outside(&[stall(2_000, 20_000)], span, RECOVERY), []);
    }
}
