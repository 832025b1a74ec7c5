//! What is written down of a run while it lasts.

use crate::report::Counts;
use unbloat_experiment::outcome::{LayerSample, PathRecord, Route, Sample};
use unbloat_link::Place;
use unbloat_qdisc::{Backlog, Event, Packet};
use unbloat_stats::LogHistogram;
use unbloat_units::{Both, Delta, Direction, Time};

/// Sees every packet of the model: writes captures, or a stream of truth. Called on the thread that carries the packets, which
/// it delays: to be quick is all. Times are logical.
pub trait Witness: Send {
    /// The packet enters the path.
    fn offered(&mut self, direction: Direction, at: Time, packet: &Packet, bytes: Parts<'_>) {
        let _ = (direction, at, packet, bytes);
    }

    /// The packet comes to a hop of a path that has several, counted from 0; it enters the path where it comes to the first.
    fn came_to(
        &mut self,
        direction: Direction,
        at: Time,
        hop: usize,
        packet: &Packet,
        bytes: Parts<'_>,
    ) {
        let _ = (direction, at, hop, packet, bytes);
    }

    /// The path drops or marks a packet.
    fn event(&mut self, direction: Direction, at: Time, event: &Event) {
        let _ = (direction, at, event);
    }

    /// The packet has waited somewhere on the path until `at`.
    fn waited(
        &mut self,
        direction: Direction,
        at: Time,
        place: Place,
        packet: &Packet,
        wait: Delta,
    ) {
        let _ = (direction, at, place, packet, wait);
    }

    /// The packet leaves the path.
    fn delivered(&mut self, direction: Direction, at: Time, packet: &Packet, bytes: Parts<'_>) {
        let _ = (direction, at, packet, bytes);
    }
}

/// The bytes of a packet, from the IP header on. Checksums of TCP and UDP may be unfinished: the kernel leaves them to a device.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// IP header, and TCP's.
    pub header: &'a [u8],
    pub payload: &'a [u8],
}

/// Records of both directions.
pub(crate) struct Books {
    pub warm_at: Time,
    pub paths: Both<PathRecord>,
    pub samples: Vec<Sample>,
    pub layers: Vec<LayerSample>,
    pub counts: Counts,
    pub lateness_us: LogHistogram,
    pub witness: Option<Box<dyn Witness>>,
}

impl Books {
    pub(crate) fn new(warm_at: Time, witness: Option<Box<dyn Witness>>) -> Books {
        Books {
            warm_at,
            paths: Both::of(|_| PathRecord::new(warm_at)),
            samples: Vec::new(),
            layers: Vec::new(),
            counts: Counts::default(),
            lateness_us: LogHistogram::new(),
            witness,
        }
    }

    /// `backlogs`: what is on the paths and behind them, all together.
    pub(crate) fn sample(&mut self, at: Time, backlogs: Both<Backlog>, paths: &Both<Route>) {
        for (direction, path) in paths.entries() {
            path.each_layer(|hop, place, backlog| {
                self.layers.push(LayerSample {
                    at,
                    direction,
                    hop,
                    place,
                    bytes: backlog.bytes,
                    packets: backlog.packets,
                });
            });
        }
        self.samples.push(Sample {
            at,
            queue_bytes: backlogs.map(|backlog| backlog.bytes),
            queue_packets: backlogs.map(|backlog| backlog.packets),
        });
    }

    #[inline]
    pub(crate) fn wrote(&mut self) {
        self.counts.writes += 1;
    }

    /// A packet was handed to its device, or refused by it.
    #[inline]
    pub(crate) fn handed(&mut self, now: Time, planned: Time, is_taken: bool) {
        self.lateness_us
            .record((now - planned).as_ns() as f64 / 1e3);
        self.counts.handed += 1;
        self.counts.refused += u64::from(!is_taken);
    }
}
