//! What connections do while a run goes on: series and records.

use std::sync::atomic::{AtomicBool, Ordering};
use unbloat_outcome::{FlowRecord, WindowSample};
use unbloat_scenario::Experiment;
use unbloat_traffic::{TcpInfo, Watch};
use unbloat_units::Time;
use unbloat_workload::{Conn, Direction};

/// The kernel's account of one end of a connection at one moment.
#[derive(Clone, Copy, Debug)]
pub struct TcpSample {
    pub at: Time,
    pub flow: u32,
    pub conn: u32,
    /// The direction of the data that this end sends.
    pub sender: Direction,
    pub info: TcpInfo,
}

/// Keeps what it is told.
pub struct Keeper<'a> {
    stop: &'a AtomicBool,
    progress: &'a (dyn Fn(Time) + Sync),
    keeps_series: bool,
    pub records: Vec<FlowRecord>,
    pub samples: Vec<TcpSample>,
    /// By connection: segments delivered when last looked.
    delivered: Vec<u64>,
}

impl<'a> Keeper<'a> {
    pub fn new(
        experiment: &Experiment,
        keeps_series: bool,
        stop: &'a AtomicBool,
        progress: &'a (dyn Fn(Time) + Sync),
    ) -> Self {
        let warm_at = Time::from_ns(0) + experiment.warmup;
        Keeper {
            stop,
            progress,
            keeps_series,
            records: vec![FlowRecord::new(warm_at); experiment.flows.len()],
            samples: Vec::new(),
            delivered: Vec::new(),
        }
    }

    pub fn windows(&self) -> Vec<WindowSample> {
        let window = |sample: &TcpSample| WindowSample {
            at: sample.at,
            flow: sample.flow,
            conn: sample.conn,
            cwnd_bytes: sample.info.cwnd(),
            in_flight_bytes: sample.info.in_flight(),
            srtt: sample.info.rtt(),
        };
        self.samples.iter().map(window).collect()
    }
}

impl Watch for Keeper<'_> {
    /// The kernel tells a smoothed round-trip time; it counts for every segment that was delivered meanwhile.
    fn sample(&mut self, at: Time, flow: u32, id: u32, sender: Direction, info: &TcpInfo) {
        let index = id as usize;
        if index >= self.delivered.len() {
            self.delivered.resize(index + 1, 0);
        }
        let delivered = info.delivered_segments();
        let more = delivered.saturating_sub(self.delivered[index]);
        self.delivered[index] = delivered;
        self.records[flow as usize].rtts(at, info.rtt(), more);
        if self.keeps_series {
            self.samples.push(TcpSample {
                at,
                flow,
                conn: id,
                sender,
                info: *info,
            });
        }
    }

    fn ended(&mut self, _at: Time, flow: u32, _conn: Conn, ends: [Option<&TcpInfo>; 2]) {
        let record = &mut self.records[flow as usize];
        for info in ends.into_iter().flatten() {
            record.segments += info.data_segments();
            record.retransmissions += info.retransmissions();
            record.timeouts += info.timeouts();
        }
    }

    fn tick(&mut self, at: Time) -> bool {
        (self.progress)(at);
        self.stop.load(Ordering::Relaxed)
    }
}
