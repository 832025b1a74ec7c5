//! What a user's link delivered: the marks that estimates of its bandwidth are taken between.
//!
//! Kept for the user, not for the flow, because flows that run at the same time share the link:
//! their deliveries add up (§6.1 proposes it; the study itself looked at single flows only).

use std::collections::VecDeque;
use unbloat_units::{Bytes, Delta, Rate, Time};

/// A moment at which the receiver is known to have got so many bytes.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// When the receiver sent the ACK.
    received: Time,
    /// When the newest byte that it acknowledges passed the monitor.
    sent: Time,
    /// Bytes acknowledged of all flows since the user came.
    bytes: u64,
}

/// Lengths of windows.
pub(crate) const LENGTHS: [Delta; 3] = [Delta::ms(100), Delta::ms(250), Delta::ms(1000)];

/// Deliveries of one side of a user since the last disorder.
#[derive(Clone, Debug, Default)]
pub(crate) struct Throughput {
    marks: VecDeque<Mark>,
    /// Marks that were there before these, and the mark, counted from the first of all, at which
    /// the last window of each length began: the next one begins there or later.
    gone: u64,
    begins: [u64; LENGTHS.len()],
    bytes: u64,
    /// The link has had a queue since this mark was received.
    busy_since: Option<Time>,
    /// Smallest round trip of all flows.
    floor: Option<Delta>,
    /// Flows with ACKs lately, each with its last.
    flows: Vec<(u64, Time)>,
    /// Fastest clean receiving rate: what `C` is learnt from.
    fastest: Rate,
}

/// An ACK that acknowledges new data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    pub(crate) flow_id: u64,
    pub(crate) received: Time,
    pub(crate) sent: Time,
    pub(crate) rtt: Delta,
    pub(crate) bytes: u32,
    pub(crate) packets: u32,
}

/// Receiving and sending rate between two marks (Formulas 1 and 2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Window {
    pub(crate) centre: Time,
    pub(crate) length: Delta,
    pub(crate) received: Rate,
    pub(crate) sent: Option<Rate>,
    /// The queue never ran empty in it.
    pub(crate) is_backlogged: bool,
    pub(crate) flows: u64,
}

impl Throughput {
    /// Marks lie at least this far apart; bytes between are in the next one.
    const SPACING: Delta = Delta::ms(2);
    /// The longest window.
    const LONGEST: Delta = Delta::ms(1_100);
    const MAX_FLOWS: usize = 64;
    /// Round trips vary by this much without a queue: scheduling, air interface, host.
    const JITTER: Delta = Delta::ms(3);
    /// Linux delays an ACK for a single packet by at most this.
    const DELAYED_ACK: Delta = Delta::ms(40);

    /// Order was lost: no window may span this moment.
    pub(crate) fn interrupt(&mut self) {
        self.gone += self.marks.len() as u64;
        self.marks.clear();
        self.busy_since = None;
    }

    /// Bytes that were acknowledged by flows that give no marks.
    #[inline]
    pub(crate) fn add(&mut self, bytes: u32) {
        self.bytes += u64::from(bytes);
    }

    /// A delivery of a flow whose ACKs tell when they were sent.
    pub(crate) fn deliver(&mut self, delivery: &Delivery) {
        self.bytes += u64::from(delivery.bytes);
        self.floor = Some(
            self.floor
                .map_or(delivery.rtt, |floor| floor.min(delivery.rtt)),
        );
        self.note_flow(delivery);
        if !self.is_queued(delivery) {
            self.busy_since = None;
        }
        let now = delivery.received;
        if self
            .marks
            .back()
            .is_some_and(|last| now.since(last.received) < Self::SPACING)
        {
            return;
        }
        if self.busy_since.is_none() && self.is_queued(delivery) {
            self.busy_since = Some(now);
        }
        self.marks.push_back(Mark {
            received: now,
            sent: delivery.sent,
            bytes: self.bytes,
        });
        while self
            .marks
            .front()
            .is_some_and(|m| now.since(m.received) > Self::LONGEST)
        {
            self.marks.pop_front();
            self.gone += 1;
        }
    }

    /// The packet waited: its round trip is longer than the floor and anything but a queue explain.
    fn is_queued(&self, delivery: &Delivery) -> bool {
        let Some(floor) = self.floor else {
            return false;
        };
        let alone = if delivery.packets < 2 {
            Self::DELAYED_ACK
        } else {
            Delta::ZERO
        };
        delivery.rtt > floor + Self::JITTER + floor / 10 + alone
    }

    fn note_flow(&mut self, delivery: &Delivery) {
        let now = delivery.received;
        if let Some(flow) = self
            .flows
            .iter_mut()
            .find(|(id, _)| *id == delivery.flow_id)
        {
            flow.1 = now;
            return;
        }
        self.flows
            .retain(|(_, last)| now.since(*last) < Self::LONGEST);
        if self.flows.len() < Self::MAX_FLOWS {
            self.flows.push((delivery.flow_id, now));
        }
    }

    /// The window that ends with the last mark and is as long as `LENGTHS[which]`, within a tenth.
    pub(crate) fn window(&mut self, which: usize) -> Option<Window> {
        let last = *self.marks.back()?;
        let length = LENGTHS[which];
        let earliest = last.received - length - length / 10;
        let mut from = self.begins[which].saturating_sub(self.gone) as usize;
        while self.marks.get(from)?.received < earliest {
            from += 1;
        }
        self.begins[which] = self.gone + from as u64;
        let first = *self.marks.get(from)?;
        let span = last.received.since(first.received);
        if span < length - length / 10 {
            return None;
        }
        let bytes = Bytes::new(last.bytes - first.bytes);
        let received = bytes.over(span)?;
        self.fastest = self.fastest.max(received);
        let flows = self.flows.iter().filter(|flow| flow.1 >= first.received);
        Some(Window {
            centre: first.received + span / 2,
            length: span,
            received,
            sent: bytes.over(last.sent.since(first.sent)),
            is_backlogged: self.busy_since.is_some_and(|since| since <= first.received),
            flows: flows.count() as u64,
        })
    }

    pub(crate) fn fastest(&self) -> Rate {
        self.fastest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A link of 8 Mbit/s: a packet of 1,000 bytes each millisecond, acknowledged in pairs.
    fn deliveries(rtt: impl Fn(i64) -> Delta) -> impl Iterator<Item = Delivery> {
        (1..600).map(move |pair| {
            let received = Time::default() + Delta::ms(2 * pair);
            let rtt = rtt(pair);
            let sent = received - rtt;
            Delivery {
                flow_id: 0,
                received,
                sent,
                rtt,
                bytes: 2000,
                packets: 2,
            }
        })
    }

    #[test]
    fn a_backlogged_window_gives_the_rate_of_the_link() {
        let mut link = Throughput::default();
        let queue = |pair| Delta::ms(if pair == 1 { 20 } else { 200 });
        deliveries(queue).for_each(|d| link.deliver(&d));
        let window = link.window(2).unwrap();
        assert_eq!(window.received, Rate::mbps(8));
        assert!(window.is_backlogged && window.flows == 1);
        assert!(window.length >= Delta::ms(900) && window.length <= Delta::ms(1100));
    }

    #[test]
    fn without_a_queue_nothing_is_backlogged() {
        let mut link = Throughput::default();
        deliveries(|_| Delta::ms(20)).for_each(|d| link.deliver(&d));
        assert!(!link.window(0).unwrap().is_backlogged);
    }

    #[test]
    fn no_window_spans_disorder() {
        let mut link = Throughput::default();
        for (i, delivery) in deliveries(|_| Delta::ms(200)).enumerate() {
            if i == 540 {
                link.interrupt();
            }
            link.deliver(&delivery);
        }
        assert_eq!(link.window(2), None);
        assert!(link.window(0).is_some());
    }
}
