//! Layers out of differences of counters. Pure.

use crate::counts::{Counts, Times};
use crate::devices::{Device, Queue};
use crate::layers::{InterfaceLayers, QueueLayer, Rates, SocketLayer, Wait};
use crate::sockets::TcpState;
use unbloat_units::{Bytes, Delta, Rate};

/// TCP's own round-trip time, and what is left of it without the discipline.
pub(crate) fn estimated_round_trip(
    tcp: Option<&TcpState>,
    qdisc: Option<Wait>,
) -> (Option<Wait>, Option<Wait>) {
    let Some(rtt) = tcp.and_then(|tcp| tcp.rtt) else {
        return (None, None);
    };
    let behind = qdisc.map(|wait| Wait::Estimated(least(rtt - wait.mean())));
    (Some(Wait::Estimated(rtt)), behind)
}

pub(crate) fn interface(
    index: u32,
    device: &Device,
    before: Option<&Device>,
    sum: Option<&Counts>,
    span: Delta,
) -> InterfaceLayers {
    let sent = before.and_then(|before| grown(device.sent, before.sent, span));
    let queue = device.queue.as_ref();
    let queue_before = before.and_then(|before| before.queue.as_ref());
    let left = queue
        .zip(queue_before)
        .filter(|(queue, _)| queue.kind != "noqueue");
    let left = left.and_then(|(now, then)| grown(now.left, then.left, span));
    // What is still there has entered too, and has not left.
    let entered = device
        .queue
        .as_ref()
        .zip(queue_before)
        .and_then(|(now, then)| {
            let so_far = |seen: &Queue| Bytes::new(seen.left.as_u64() + seen.backlog.as_u64());
            grown(so_far(now), so_far(then), span).filter(|_| left.is_some())
        });
    let by_sum = |bytes: fn(&Counts) -> u64| sum.and_then(|sum| Bytes::new(bytes(sum)).over(span));
    let queue = queue.map(|queue| queue_layer(queue, queue_before, left));
    let wait = queue
        .as_ref()
        .and_then(|queue| queue.wait)
        .map(Wait::Estimated);
    let driver_wait = device
        .driver
        .and_then(|bytes| time(bytes.in_flight, sent))
        .map(Wait::Estimated);
    InterfaceLayers {
        name: device.name.clone(),
        index,
        qdisc: sum.map_or(wait, |sum| measured(&sum.qdisc).or(wait)),
        queue,
        driver: sum.and_then(|sum| measured(&sum.driver)).or(driver_wait),
        driver_bytes: device.driver.map(|bytes| (bytes.in_flight, bytes.limit)),
        dropped: before.map_or(0, |before| device.dropped.saturating_sub(before.dropped)),
        rates: Rates {
            entered,
            left: left.or_else(|| by_sum(|counts| counts.left_bytes)),
            done: sent,
            ..Rates::default()
        },
    }
}

fn queue_layer(queue: &Queue, before: Option<&Queue>, left: Option<Rate>) -> QueueLayer {
    QueueLayer {
        kind: queue.kind.clone(),
        backlog: queue.backlog,
        packets: queue.packets,
        dropped: before.map_or(0, |before| queue.dropped.saturating_sub(before.dropped)),
        wait: time(queue.backlog, left),
    }
}

pub(crate) fn rates(
    counts: Option<&Counts>,
    device: Option<&Device>,
    tcp: Option<&TcpState>,
    before: Option<&TcpState>,
    span: Delta,
) -> Rates {
    let counted =
        |bytes: fn(&Counts) -> u64| counts.and_then(|counts| Bytes::new(bytes(counts)).over(span));
    let both = tcp.zip(before);
    let tells = device.is_some_and(|device| device.is_end);
    Rates {
        written: both.and_then(|(now, then)| grown(now.written(), then.written(), span)),
        sent: both.and_then(|(now, then)| grown(now.sent, then.sent, span)),
        // Of its own TCP this host knows by TCP.
        entered: counted(|now| now.entered_bytes).filter(|_| tcp.is_none()),
        left: counted(|now| now.left_bytes),
        done: counted(|now| now.done_bytes).filter(|_| tells),
        acknowledged: both.and_then(|(now, then)| grown(now.acknowledged, then.acknowledged, span)),
    }
}

pub(crate) fn socket_layer(tcp: &TcpState, sent: Option<Rate>) -> SocketLayer {
    let rate = sent.filter(|rate| *rate > Rate::ZERO).or(tcp.delivery_rate);
    SocketLayer {
        unsent: tcp.unsent,
        wait: time(tcp.unsent, rate),
        in_flight: tcp.in_flight,
        cwnd: tcp.cwnd,
        retransmissions: tcp.retransmissions,
    }
}

pub(crate) fn measured(times: &Times) -> Option<Wait> {
    times.spread().map(Wait::Measured)
}

/// How long bytes last at a rate: nothing lasts no time at any.
fn time(bytes: Bytes, rate: Option<Rate>) -> Option<Delta> {
    if bytes.as_u64() == 0 {
        return Some(Delta::ZERO);
    }
    let rate = rate.filter(|rate| *rate > Rate::ZERO)?;
    Some(Delta::from_secs_f64(
        bytes.as_u64() as f64 * 8.0 / rate.as_bps_f64(),
    ))
}

/// The rate at which a counter grew; one that fell was begun anew.
fn grown(now: Bytes, before: Bytes, span: Delta) -> Option<Rate> {
    Bytes::new(now.as_u64().checked_sub(before.as_u64())?).over(span)
}

pub(crate) fn least(delta: Delta) -> Delta {
    delta.max(Delta::ZERO)
}
