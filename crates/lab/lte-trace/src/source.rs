//! A trace as a source of packets: users are simulated on threads while their packets are read.

use crate::{LINK_TYPE, Params, Population, Slice, UserTruth};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;
use unbloat_capture::{CaptureError, Notes, Progress, Record, Source};
use unbloat_units::{Delta, Time};
use unbloat_wire::LinkType;

/// Start of the study's trace: 12 October 2012 (section 3.1), as the whole second since 1970 that is easy to know.
pub(crate) const ORIGIN: Time = Time::from_ns(1_350_000_000 * 1_000_000_000);
/// Slices that a thread may be ahead of the reader.
const AHEAD: usize = 2;

/// One thread's share of the users.
struct Share {
    slices: Receiver<Slice>,
    worker: JoinHandle<Vec<UserTruth>>,
    slice: Slice,
    next: usize,
    is_over: bool,
}

/// Packets of a trace by time; the same for any number of threads.
pub(crate) struct TraceSource {
    shares: Vec<Share>,
    packets: u64,
}

impl TraceSource {
    /// Begins to simulate on so many threads.
    pub(crate) fn start(params: &Params, seed: u64, threads: u32) -> TraceSource {
        let threads = threads.max(1);
        let shares = (0..threads).map(|share| {
            let params = params.clone();
            let (sender, slices) = sync_channel(AHEAD);
            let worker = std::thread::spawn(move || {
                let mut population = Population::new(&params, seed, share, threads);
                loop {
                    let mut slice = Slice::default();
                    if !population.next(&mut slice) || sender.send(slice).is_err() {
                        return population.into_truth();
                    }
                }
            });
            Share {
                slices,
                worker,
                slice: Slice::default(),
                next: 0,
                is_over: false,
            }
        });
        TraceSource {
            shares: shares.collect(),
            packets: 0,
        }
    }

    /// What happened, by address; to be asked for at the end, before which it ends the simulation.
    pub(crate) fn into_truth(self) -> Vec<UserTruth> {
        let mut users = Vec::new();
        for share in self.shares {
            drop(share.slices);
            users.extend(share.worker.join().expect("simulations do not panic"));
        }
        users.sort_by_key(|user| user.client);
        users
    }

    /// The share with the next packet. All shares have slices of the same stretch of time.
    fn first(&mut self) -> Option<usize> {
        while self
            .shares
            .iter()
            .all(|share| share.next == share.slice.len())
        {
            if self.shares.iter().any(|share| share.is_over) {
                return None;
            }
            for share in &mut self.shares {
                share.next = 0;
                match share.slices.recv() {
                    Ok(slice) => share.slice = slice,
                    Err(_) => (share.slice, share.is_over) = (Slice::default(), true),
                }
            }
        }
        let waiting = self.shares.iter().enumerate();
        let waiting = waiting.filter(|(_, share)| share.next < share.slice.len());
        let first = waiting.min_by_key(|(_, share)| share.slice.key(share.next));
        first.map(|(index, _)| index)
    }
}

impl Source for TraceSource {
    fn next(&mut self) -> Result<Option<Record<'_>>, CaptureError> {
        let Some(index) = self.first() else {
            return Ok(None);
        };
        self.packets += 1;
        let share = &mut self.shares[index];
        share.next += 1;
        let frame = share.slice.frame(share.next - 1);
        Ok(Some(Record {
            time: ORIGIN + Delta::ns(frame.at.as_ns()),
            link: LinkType::from(LINK_TYPE),
            wire_len: frame.wire_len,
            data: frame.data,
        }))
    }

    fn fill(
        &mut self,
        max: usize,
        sink: &mut dyn FnMut(Record<'_>),
    ) -> Result<usize, CaptureError> {
        let mut count = 0;
        while count < max
            && let Some(record) = self.next()?
        {
            sink(record);
            count += 1;
        }
        Ok(count)
    }

    fn ended(&self) -> bool {
        self.shares.iter().any(|share| share.is_over)
    }

    fn progress(&self) -> Progress {
        Progress::default()
    }

    fn notes(&mut self) -> Notes {
        Notes {
            packets: self.packets,
            ..Notes::default()
        }
    }
}
