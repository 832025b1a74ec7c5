//! What the path did over time, at the resolution of a measurement: the truth that a test beside it is held against.

mod in_order;

use in_order::InOrder;
use std::sync::mpsc::{Receiver, Sender, channel};
use unbloat_emulator::{Parts, Witness};
use unbloat_link::Place;
use unbloat_qdisc::{Event, Packet};
use unbloat_units::{Both, Bytes, Delta, Direction, Time};

/// Length of a step.
const STEP: Delta = Delta::ms(10);

/// What one direction of the path did in one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathStep {
    /// How long the first packet that came in this step waited in queues; none if none came that got through.
    pub wait: Option<Delta>,
    /// What left the path.
    pub bytes: Bytes,
    /// Payload of TCP that left the path, in any order, duplicates included.
    pub tcp_delivered_bytes: Bytes,
    /// What its receiver could then pass on: in order, and once.
    pub tcp_bytes: Bytes,
    pub drops: u32,
}

/// Steps of both directions since the run's zero.
#[derive(Clone, Debug, Default)]
pub struct PathSeries {
    directions: Both<Vec<PathStep>>,
}

impl PathSeries {
    /// Steps of both directions in the order of time, with their beginnings.
    pub fn steps(&self) -> impl Iterator<Item = (Time, Direction, &PathStep)> {
        let most = self.directions.iter().map(Vec::len).max().unwrap_or(0);
        let times = (0..most).map(|step| (step, Time::from_ns(step as i64 * STEP.as_ns())));
        times.flat_map(|(step, at)| {
            let both = self.directions.entries();
            both.filter_map(move |(direction, steps)| Some((at, direction, steps.get(step)?)))
        })
    }

    fn step(&mut self, direction: Direction, at: Time) -> &mut PathStep {
        let steps = &mut self.directions[direction];
        let index = (at.as_ns().max(0) / STEP.as_ns()) as usize;
        if index >= steps.len() {
            steps.resize(index + 1, PathStep::default());
        }
        &mut steps[index]
    }
}

/// A packet on the path.
#[derive(Clone, Copy, Default)]
struct Under {
    came: Time,
    waited: Delta,
    is_first: bool,
}

/// Writes the series on the thread that carries packets, and hands it over when that ends.
pub(crate) struct Recorder {
    series: PathSeries,
    /// By handle.
    under_way: Vec<Under>,
    /// The last step of each direction in which a packet came.
    came_in: Both<Option<i64>>,
    in_order: Both<InOrder>,
    out: Sender<PathSeries>,
}

/// A recorder, and where its series arrives.
pub(crate) fn recorder() -> (Recorder, Receiver<PathSeries>) {
    let (out, series) = channel();
    let recorder = Recorder {
        series: PathSeries::default(),
        under_way: Vec::new(),
        came_in: Both::default(),
        in_order: Default::default(),
        out,
    };
    (recorder, series)
}

impl Witness for Recorder {
    fn offered(&mut self, direction: Direction, at: Time, packet: &Packet, _bytes: Parts<'_>) {
        let handle = packet.handle as usize;
        if handle >= self.under_way.len() {
            self.under_way.resize(handle + 1, Under::default());
        }
        let step = Some(at.as_ns() / STEP.as_ns());
        let is_first = self.came_in[direction] != step;
        self.came_in[direction] = step;
        self.under_way[handle] = Under {
            came: at,
            waited: Delta::ZERO,
            is_first,
        };
    }

    fn event(&mut self, direction: Direction, at: Time, event: &Event) {
        let Event::Dropped { packet, .. } = event else {
            return;
        };
        self.series.step(direction, at).drops += 1;
        let dropped = &mut self.under_way[packet.handle as usize];
        // Then the next one speaks for the step.
        if std::mem::take(&mut dropped.is_first) {
            self.came_in[direction] = None;
        }
    }

    fn waited(&mut self, _: Direction, _: Time, _: Place, packet: &Packet, wait: Delta) {
        self.under_way[packet.handle as usize].waited += wait;
    }

    fn delivered(&mut self, direction: Direction, at: Time, packet: &Packet, bytes: Parts<'_>) {
        let under = self.under_way[packet.handle as usize];
        if under.is_first {
            let step = self.series.step(direction, under.came);
            step.wait = step.wait.or(Some(under.waited));
        }
        let in_order = &mut self.in_order[direction];
        let counted = in_order.count(bytes.header, bytes.payload.len());
        let step = self.series.step(direction, at);
        step.bytes += packet.len.bytes();
        step.tcp_delivered_bytes += Bytes::new(counted.delivered);
        step.tcp_bytes += Bytes::new(counted.in_order);
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // Nobody waits for it if the shell is dropped rather than closed.
        let _ = self.out.send(std::mem::take(&mut self.series));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_qdisc::{FlowHash, IpLen, Reason};

    /// Of IPv4 and TCP.
    const HEADER: [u8; 40] = {
        let mut header = [0; 40];
        header[0] = 0x45;
        header[9] = 6;
        header
    };

    fn at(ms: i64) -> Time {
        Time::from_ns(0) + Delta::ms(ms)
    }

    fn packet(handle: u32) -> Packet {
        Packet::new(handle, IpLen::new(1_040), FlowHash(0))
    }

    fn parts(payload: &[u8]) -> Parts<'_> {
        Parts {
            header: &HEADER,
            payload,
        }
    }

    #[test]
    fn a_step_tells_what_its_first_survivor_waited_and_what_left_in_it() {
        let (mut recorder, series) = recorder();
        let down = Direction::Down;
        for handle in 0..3 {
            recorder.offered(down, at(12), &packet(handle), parts(&[]));
            if handle == 0 {
                let reason = Reason::ALL[0];
                let packet = packet(0);
                recorder.event(down, at(12), &Event::Dropped { packet, reason });
            }
        }
        for (handle, wait) in [(1, 30), (2, 31)] {
            recorder.waited(
                down,
                at(12 + wait),
                Place::Queue,
                &packet(handle),
                Delta::ms(wait),
            );
            recorder.delivered(down, at(60), &packet(handle), parts(&[0; 1_000]));
        }
        drop(recorder);
        let series = series.recv().unwrap();
        let steps: Vec<_> = series.steps().collect();
        assert_eq!(steps.len(), 7);
        let (begin, direction, came) = steps[1];
        assert_eq!((begin, direction), (at(10), down));
        assert_eq!((came.wait, came.drops), (Some(Delta::ms(30)), 1));
        let (_, _, left) = steps[6];
        assert_eq!(left.bytes, Bytes::new(2_080));
        // Both packets bring the same thousand bytes.
        assert_eq!(left.tcp_bytes, Bytes::new(1_000));
        assert_eq!(left.tcp_delivered_bytes, Bytes::new(2_000));
        assert_eq!(left.wait, None);
    }

    #[test]
    fn waits_in_several_places_add_up() {
        let (mut recorder, series) = recorder();
        recorder.offered(Direction::Up, at(0), &packet(9), parts(&[]));
        for place in [Place::Qdisc, Place::Driver] {
            recorder.waited(Direction::Up, at(5), place, &packet(9), Delta::ms(5));
        }
        recorder.delivered(Direction::Up, at(10), &packet(9), parts(&[]));
        drop(recorder);
        let series = series.recv().unwrap();
        let (_, direction, step) = series.steps().next().unwrap();
        assert_eq!((direction, step.wait), (Direction::Up, Some(Delta::ms(10))));
    }
}
