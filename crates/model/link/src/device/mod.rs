//! The sending device: queue discipline, driver ring and modem, each feeding the next as it has room.
//!
//! # References
//! Y. Guo et al., IMC 2016, section 3 and Figure 8: an upload waits in the queue discipline (T_Q),
//! hardly in the driver (T_D), and in the firmware (T_F).
//!
//! # What we follow
//! The driver takes packets from the discipline while its ring has room, the modem from the ring
//! while its buffer has. So the discipline decides only once all below is full: a large firmware
//! buffer takes the queue out of its hands, unless a control ([`control`]) lets packets pass only as fast as the modem drains.

pub mod control;
pub mod modem;

use crate::seam::{Element, Output, Place};
use control::{Control, Seen};
use fastrand::Rng;
use modem::{AnyModem, Modem};
use std::collections::VecDeque;
use unbloat_qdisc::{AnyQueue, Backlog, Context, Packet, Queue};
use unbloat_units::{Bytes, Delta, Time};

#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    pub qdisc: unbloat_qdisc::Config,
    pub ring: RingLimit,
    pub modem: modem::Config,
    /// Holds packets in the discipline that the modem would only queue.
    pub control: Option<control::Params>,
}

/// How much the driver takes from the discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingLimit {
    /// Descriptors of the ring.
    pub packets: u32,
    /// Takes no more once it holds so many bytes, as byte queue limits do: the last packet may go
    /// beyond.
    pub bytes: Option<Bytes>,
}

/// A ring of 256 without a limit in bytes.
impl Default for RingLimit {
    fn default() -> RingLimit {
        RingLimit {
            packets: 256,
            bytes: None,
        }
    }
}

/// A device that sends.
pub struct Device {
    qdisc: AnyQueue,
    rng: Rng,
    /// When the discipline's own shaper lets the next packet go.
    qdisc_at: Option<Time>,
    limit: RingLimit,
    ring: VecDeque<(Time, Packet)>,
    ring_bytes: Bytes,
    modem: AnyModem,
    control: Option<Control>,
}

impl Device {
    pub(crate) fn build(params: &Params, start: Time, rng: &mut Rng) -> Device {
        Device {
            qdisc: params.qdisc.build(),
            rng: rng.fork(),
            qdisc_at: None,
            limit: params.ring,
            ring: VecDeque::new(),
            ring_bytes: Bytes::ZERO,
            modem: params.modem.build(start, rng),
            control: params.control.map(|params| Control::new(params, start)),
        }
    }

    /// What stands in the discipline, the ring and the modem.
    pub fn layers(&self) -> [Backlog; 3] {
        let ring = Backlog {
            packets: self.ring.len() as u32,
            bytes: self.ring_bytes,
        };
        [self.qdisc.backlog(), ring, self.modem.backlog()]
    }

    pub fn modem(&self) -> &AnyModem {
        &self.modem
    }

    /// Moves packets down as far as there is room.
    fn pump(&mut self, now: Time, out: &mut impl Output) {
        loop {
            self.feed_modem(now, out);
            if !self.feed_ring(now, out) {
                return;
            }
        }
    }

    fn feed_modem(&mut self, now: Time, out: &mut impl Output) {
        while let Some((since, packet)) = self.ring.front().copied()
            && self.modem.has_room(&packet)
        {
            self.ring.pop_front();
            self.ring_bytes = self.ring_bytes - packet.len.bytes();
            out.waited(now, Place::Driver, &packet, now - since);
            let control = self.control.as_mut();
            self.modem.accept(now, packet, &mut Seen { control, out });
        }
    }

    /// Takes one packet from the discipline, if there is one and room for it.
    fn feed_ring(&mut self, now: Time, out: &mut impl Output) -> bool {
        self.qdisc_at = None;
        let has_room = self.ring.len() < self.limit.packets.max(1) as usize
            && self.limit.bytes.is_none_or(|limit| self.ring_bytes < limit);
        let is_open = self
            .control
            .as_ref()
            .is_none_or(|control| control.is_open(now));
        if let Some(control) = &mut self.control {
            let waits = self.qdisc.backlog().packets > 0;
            control.hold(now, has_room && !is_open && waits);
        }
        if !has_room || !is_open {
            return false;
        }
        let mut cx = Context {
            rng: &mut self.rng,
            observer: out,
        };
        let Some(packet) = self.qdisc.dequeue(now, &mut cx) else {
            let at = self.qdisc.ready_at(now);
            self.qdisc_at = at.map(|at| at.max(now + Delta::ns(1)));
            return false;
        };
        out.waited(now, Place::Qdisc, &packet, now - packet.enqueued);
        if let Some(control) = &mut self.control {
            control.released(now, &packet);
        }
        self.ring_bytes += packet.len.bytes();
        self.ring.push_back((now, packet));
        true
    }
}

impl Element for Device {
    fn accept(&mut self, now: Time, packet: Packet, out: &mut impl Output) {
        self.advance(now, out);
        let mut cx = Context {
            rng: &mut self.rng,
            observer: out,
        };
        self.qdisc.enqueue(now, packet, &mut cx);
        if let Some(control) = &mut self.control {
            control.wake(now);
        }
        self.pump(now, out);
    }

    fn next_at(&self) -> Option<Time> {
        let control = self.control.as_ref().and_then(Control::next_at);
        [self.modem.next_at(), self.qdisc_at, control]
            .into_iter()
            .flatten()
            .min()
    }

    fn advance(&mut self, now: Time, out: &mut impl Output) {
        while let Some(at) = self.next_at()
            && at <= now
        {
            let mut seen = Seen {
                control: self.control.as_mut(),
                out,
            };
            self.modem.advance(at, &mut seen);
            if let Some(control) = &mut self.control {
                let held = control::held(self.ring_bytes, &self.modem);
                control.hear(at, held, self.qdisc.backlog().packets > 0);
            }
            self.pump(at, out);
        }
    }

    fn latency(&self) -> Delta {
        self.modem.latency()
    }

    /// Senders count what stands in the discipline and the driver (TCP small queues).
    fn is_watched(&self) -> bool {
        true
    }

    fn backlog(&self) -> Backlog {
        let layers = self.layers().into_iter();
        layers.fold(Backlog::default(), |sum, layer| Backlog {
            packets: sum.packets + layer.packets,
            bytes: sum.bytes + layer.bytes,
        })
    }

    fn each_layer(&self, tell: &mut dyn FnMut(Place, Backlog)) {
        let [qdisc, driver, _] = self.layers();
        tell(Place::Qdisc, qdisc);
        tell(Place::Driver, driver);
        self.modem.each_layer(tell);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::{self, constant};
    use crate::testing::{Log, at_ms, drive, packet, run_until};
    use unbloat_qdisc::Reason;
    use unbloat_qdisc::discipline::droptail;
    use unbloat_units::Framing;
    use unbloat_units::Rate;

    /// A packet of 1500 bytes takes 1 ms; firmware holds three that wait, the driver two, the
    /// discipline four.
    fn device() -> Device {
        let params = Params {
            qdisc: unbloat_qdisc::Config::DropTail(droptail::Params {
                limit_bytes: None,
                limit_packets: Some(4),
            }),
            ring: RingLimit {
                packets: 2,
                bytes: None,
            },
            modem: modem::Config::Line(modem::Line {
                buffer: Bytes::new(4_500),
                service: service::Config::Constant(constant::Params {
                    rate: Rate::mbps(12),
                }),
                framing: Framing::default(),
            }),
            control: None,
        };
        Device::build(&params, at_ms(0), &mut Rng::with_seed(0))
    }

    #[test]
    fn layers_fill_from_below_and_only_the_discipline_drops() {
        let (mut device, mut log) = (device(), Log::default());
        let arrivals: Vec<_> = (0..12).map(|k| (at_ms(0), packet(k, 1500))).collect();
        drive(&mut device, &arrivals, &mut log);
        // One on the air, three in the firmware, two in the ring, four in the discipline.
        assert_eq!(device.layers().map(|layer| layer.packets), [4, 2, 4]);
        let lost = |k| (at_ms(0), k, Reason::Overflow);
        assert_eq!(log.drops(), [lost(10), lost(11)]);
        run_until(&mut device, Time::MAX, &mut log);
        let expected: Vec<_> = (0..10).map(|k| (at_ms(i64::from(k) + 1), k)).collect();
        assert_eq!(log.departures(), expected);
    }

    #[test]
    fn each_layer_tells_how_long_a_packet_waited_in_it() {
        let (mut device, mut log) = (device(), Log::default());
        let arrivals: Vec<_> = (0..10).map(|k| (at_ms(0), packet(k, 1500))).collect();
        drive(&mut device, &arrivals, &mut log);
        run_until(&mut device, Time::MAX, &mut log);
        // Packet k is on the air from k ms on; it entered the firmware at k - 3, the ring at k - 5.
        let waits = |place: Place, wait: fn(i64) -> i64| {
            let expected = (0..10).map(|k| (k, Delta::ms(wait(i64::from(k)))));
            assert_eq!(
                log.waits_at(place),
                expected.collect::<Vec<_>>(),
                "{place:?}"
            );
        };
        waits(Place::Qdisc, |k| (k - 5).max(0));
        waits(Place::Driver, |k| (k - 3).max(0) - (k - 5).max(0));
        waits(Place::Firmware, |k| k - (k - 3).max(0));
    }

    #[test]
    fn a_limit_in_bytes_keeps_the_driver_short() {
        let (mut device, mut log) = (device(), Log::default());
        device.limit.bytes = Some(Bytes::new(1_000));
        let arrivals: Vec<_> = (0..7).map(|k| (at_ms(0), packet(k, 1500))).collect();
        drive(&mut device, &arrivals, &mut log);
        assert_eq!(device.layers().map(|layer| layer.packets), [2, 1, 4]);
    }
}
