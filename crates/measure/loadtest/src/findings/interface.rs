//! What of that which passed this host's interface was not the test's.

use super::curves::at;
use crate::measured::{Beside, Fate, Measured, ProbeKind};
use crate::plan::Load;
use unbloat_units::{Bytes, Delta, Direction, Rate, Time};

/// Ethernet, IP and UDP of a datagram of the echo.
const FRAMING: u64 = 14 + 20 + 8;
/// The header of a datagram of the echo with all that the test asks for: what it has at least.
const LEAST_ECHO: u64 = 60;
/// A shorter idle stage says nothing about rates.
const ENOUGH: Delta = Delta::secs(1);

/// The rate in the idle stage without the test's own probes.
pub(super) fn foreign(measured: &Measured, direction: Direction) -> Option<Rate> {
    let (from, to) = idle_span(measured)?;
    let passed = bytes(&measured.interface.as_ref()?.counts, direction, (from, to))?;
    let probes = bytes(&measured.beside, direction, (from, to)).unwrap_or(Bytes::ZERO);
    let own = probes + echoes(measured, direction, (from, to));
    let foreign = Bytes::new(passed.as_u64().saturating_sub(own.as_u64()));
    foreign.over(to.since(from))
}

/// All that passed in the idle stage, the probes included.
pub(super) fn idle_rate(measured: &Measured, direction: Direction) -> Option<Rate> {
    rate(measured, direction, idle_span(measured)?)
}

/// What arrived upstream of what the test sends beside its load, as packets of IP: datagrams, echo requests, and the headers of TCP for which no
/// payload is counted. On a line of 0.3 Mbit/s these headers are 5 %.
pub(super) fn probes(measured: &Measured, (from, to): (Time, Time)) -> Rate {
    const HEADERS: u64 = 28;
    const PING: u64 = 84;
    const TCP_HEADERS: u64 = 52;
    // The server's account comes every 50 ms, and each is acknowledged.
    const ACCOUNTS_PER_S: f64 = 20.0;
    // Of a connection for one question, with TLS: counted on lines of 0.3 to 10 Mbit/s.
    const PACKETS: u64 = 16;
    // Else they are the pings.
    let has_echo = measured.server.echo.is_some();
    let sent = measured.echoes.iter().filter(|_| has_echo);
    let sent = sent.filter(|echo| from <= echo.sent && echo.sent < to);
    let arrived = sent.filter(|echo| matches!(echo.fate, Fate::Back | Fate::LostDown));
    let length = u64::from(measured.options.probing.echo_bytes).max(LEAST_ECHO) + HEADERS;
    let answered = |kind| {
        let probes = measured.probes.iter();
        let probes = probes.filter(|probe| probe.kind == kind && probe.answer.is_some());
        probes
            .filter(|probe| from <= probe.sent && probe.sent < to)
            .count() as u64
    };
    let accounts = if measured.server.has_account {
        ACCOUNTS_PER_S * to.since(from).as_secs()
    } else {
        0.0
    };
    let bytes = arrived.count() as u64 * length
        + answered(ProbeKind::Icmp) * PING
        + (answered(ProbeKind::Foreign) * PACKETS + accounts as u64) * TCP_HEADERS;
    Bytes::new(bytes).over(to.since(from)).unwrap_or(Rate::ZERO)
}

fn idle_span(measured: &Measured) -> Option<(Time, Time)> {
    let mut stages = measured.stages.iter();
    let idle = stages.find(|stage| stage.load == Load::Idle)?;
    let span = (idle.begin, idle.end);
    (span.1.since(span.0) >= ENOUGH).then_some(span)
}

/// All that passed in a direction, framing included.
pub(super) fn rate(
    measured: &Measured,
    direction: Direction,
    (from, to): (Time, Time),
) -> Option<Rate> {
    let counts = &measured.interface.as_ref()?.counts;
    bytes(counts, direction, (from, to))?.over(to.since(from))
}

/// None of counts that do not reach over that time.
fn bytes(counts: &[Beside], direction: Direction, (from, to): (Time, Time)) -> Option<Bytes> {
    let reaches = counts.first()?.at <= from + ENOUGH / 2 && counts.last()?.at >= to - ENOUGH / 2;
    let curve = counts.iter();
    let curve: Vec<(Time, u64)> = curve
        .map(|seen| (seen.at, seen.bytes[direction].as_u64()))
        .collect();
    let from = from.max(counts.first()?.at);
    reaches.then(|| Bytes::new((at(&curve, to) - at(&curve, from)).max(0.0) as u64))
}

fn echoes(measured: &Measured, direction: Direction, (from, to): (Time, Time)) -> Bytes {
    let sent = measured
        .echoes
        .iter()
        .filter(|echo| from <= echo.sent && echo.sent < to);
    let count = match direction {
        Direction::Down => sent.filter(|echo| echo.rtt.is_some()).count(),
        Direction::Up => sent.count(),
    };
    let length = u64::from(measured.options.probing.echo_bytes).max(LEAST_ECHO);
    Bytes::new(count as u64 * (length + FRAMING))
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;
    use crate::measured::Passed;
    use unbloat_units::Both;

    #[test]
    fn traffic_of_others_is_what_the_interface_counts_beyond_the_probes() {
        let mut measured = sample();
        let both = |of: &_| Both::of(|direction| foreign(of, direction));
        assert_eq!(both(&measured), Both::default());
        let counts = |down: Rate| {
            let count = move |i: i64| Beside {
                at: Time::from_ns(i * 50_000_000),
                bytes: Both::new(
                    down * Delta::ms(i * 50) + Bytes::new(1 << 40),
                    Bytes::new(1 << 41),
                ),
            };
            (0..=260).map(count).collect::<Vec<_>>()
        };
        measured.interface = Some(Passed {
            name: "eth0".to_owned(),
            counts: counts(Rate::mbps(9)),
        });
        let Both { down, up } = both(&measured);
        // 100 datagrams a second belong to the test.
        let own = echoes(
            &measured,
            Direction::Down,
            (Time::from_ns(0), Time::from_ns(3_000_000_000)),
        );
        assert_eq!(own.as_u64() % 300, 0);
        let expected = 9e6 - 8.0 * own.as_u64() as f64 / 3.0;
        assert!((down.unwrap().as_bps_f64() - expected).abs() < 10.0);
        assert_eq!(up, Some(Rate::ZERO));
    }

    #[test]
    fn headers_beside_the_load_are_on_the_line() {
        let mut measured = sample();
        let span = (Time::from_ns(6_000_000_000), Time::from_ns(8_000_000_000));
        let both = probes(&measured, span);
        measured.server.has_account = true;
        let account = probes(&measured, span).as_bps() - both.as_bps();
        assert_eq!(account, 20 * 52 * 8);
        // Ten connections a second with a question each.
        measured.probes.clear();
        let datagrams = probes(&measured, span).as_bps() - account;
        assert_eq!(both.as_bps() - datagrams, 10 * 16 * 52 * 8);
    }
}
