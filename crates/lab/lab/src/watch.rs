//! What connections do while a run goes on: series and records.

use crate::live::LivePath;
use crate::run::Options;
use crate::shortage::Repairs;
use std::sync::atomic::{AtomicBool, Ordering};
use unbloat_experiment::outcome::{FlowRecord, FlowSnapshot, Snapshot, WindowSample};
use unbloat_experiment::scenario::Experiment;
use unbloat_os::tcp_info::TcpInfo;
use unbloat_units::{Bytes, Delta, Direction, Time};
use unbloat_workload::Conn;
use unbloat_workload_host::{ConnectionEnd, Watch};

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

/// How often whoever watches is told.
const TELL_EVERY: Delta = Delta::ms(100);

/// Keeps what it is told.
pub(crate) struct Keeper<'a> {
    experiment: &'a Experiment,
    stop: &'a AtomicBool,
    options: &'a Options<'a>,
    path: LivePath,
    pub(crate) records: Vec<FlowRecord>,
    /// By flow: congestion windows and bytes in flight of this round of samples.
    sums: Vec<Option<(Bytes, Bytes)>>,
    pub(crate) samples: Vec<TcpSample>,
    pub(crate) closed: Vec<ConnectionEnd>,
    /// Of connections that have ended.
    pub(crate) repairs: Repairs,
    /// By connection: segments delivered when last looked.
    delivered: Vec<u64>,
    flows: Vec<FlowSnapshot>,
    tell_at: Time,
}

impl<'a> Keeper<'a> {
    pub(crate) fn new(
        experiment: &'a Experiment,
        options: &'a Options<'a>,
        path: LivePath,
        stop: &'a AtomicBool,
    ) -> Self {
        let start = Time::from_ns(0);
        let named = experiment.flows.iter().map(|flow| FlowSnapshot {
            name: flow.name.clone(),
            ..FlowSnapshot::default()
        });
        Keeper {
            experiment,
            stop,
            options,
            path,
            records: experiment
                .flows
                .iter()
                .zip(experiment.start_delays())
                .map(|(flow, late)| FlowRecord::new(experiment, flow.start + late))
                .collect(),
            sums: vec![None; experiment.flows.len()],
            samples: Vec::new(),
            closed: Vec::new(),
            repairs: Repairs::default(),
            delivered: Vec::new(),
            flows: named.collect(),
            tell_at: start,
        }
    }

    /// Segments that a connection delivered since it was last asked.
    fn newly_delivered(&mut self, id: u32, info: &TcpInfo) -> u64 {
        let index = id as usize;
        if index >= self.delivered.len() {
            self.delivered.resize(index + 1, 0);
        }
        let delivered = info.delivered_segments();
        delivered.saturating_sub(std::mem::replace(&mut self.delivered[index], delivered))
    }

    fn tell(&mut self, at: Time) {
        if let Some(watcher) = self.options.watcher {
            watcher(&Snapshot {
                at,
                duration: Some(self.experiment.duration),
                paths: self.path.snapshot(),
                flows: self.flows.clone(),
                lateness: None,
            });
        }
        for flow in &mut self.flows {
            (flow.connections, flow.cwnd_bytes, flow.in_flight_bytes) = (0, None, None);
        }
    }

    pub(crate) fn windows(&self) -> Vec<WindowSample> {
        let window = |sample: &TcpSample| WindowSample {
            at: sample.at,
            flow: sample.flow,
            conn: sample.conn,
            cwnd_bytes: sample.info.cwnd(),
            in_flight_bytes: sample.info.in_flight(),
            srtt: sample.info.rtt(),
            acked_segments: sample.info.acked().as_u64() / sample.info.mss().as_u64().max(1),
        };
        self.samples.iter().map(window).collect()
    }
}

impl Watch for Keeper<'_> {
    /// The kernel tells a smoothed round-trip time; it counts for every segment that was delivered meanwhile.
    fn sample(&mut self, at: Time, flow: u32, id: u32, sender: Direction, info: &TcpInfo) {
        let more = self.newly_delivered(id, info);
        self.records[flow as usize].rtts(at, info.rtt(), more);
        if self.options.keeps_series {
            self.samples.push(TcpSample {
                at,
                flow,
                conn: id,
                sender,
                info: *info,
            });
        }
        let total = self.sums[flow as usize].get_or_insert_default();
        total.0 += info.cwnd();
        total.1 += info.in_flight();
        let state = &mut self.flows[flow as usize];
        state.delivered_bytes += Bytes::new(more * info.mss().as_u64());
        if at >= self.tell_at {
            let sum = |sum: Option<Bytes>, bytes| Some(sum.unwrap_or(Bytes::ZERO) + bytes);
            state.connections += 1;
            state.cwnd_bytes = sum(state.cwnd_bytes, info.cwnd());
            state.in_flight_bytes = sum(state.in_flight_bytes, info.in_flight());
            state.srtt = Some(info.rtt());
            state.retransmissions =
                self.records[flow as usize].retransmissions + info.retransmissions();
        }
    }

    fn read(&mut self, at: Time, flow: u32, direction: Direction, bytes: Bytes) {
        self.records[flow as usize].read(at, direction, bytes);
    }

    fn ended(&mut self, _at: Time, flow: u32, _conn: Conn, closed: &ConnectionEnd) {
        if self.options.keeps_series {
            self.closed.push(*closed);
        }
        let record = &mut self.records[flow as usize];
        for info in closed.ends.iter().flatten() {
            record.segments += info.data_segments();
            record.retransmissions += info.retransmissions();
            record.timeouts += info.timeouts();
            self.repairs.retransmissions += info.retransmissions();
            self.repairs.duplicates += info.duplicates();
        }
    }

    fn tick(&mut self, at: Time) -> bool {
        for (record, sum) in self.records.iter_mut().zip(&mut self.sums) {
            if let Some((cwnd, in_flight)) = sum.take() {
                record.window(at, cwnd, in_flight);
            }
        }
        if at >= self.tell_at {
            self.tell(at);
            self.tell_at = at + TELL_EVERY;
        }
        self.stop.load(Ordering::Relaxed)
    }
}
