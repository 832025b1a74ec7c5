//! How a trace is cut: into slices of its time, and into buckets of its clients.

use crate::error::Repair;
use crate::index::{self, Index, Span};
use crate::job::Job;
use crate::{ClusterError, Place, Reading};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use unbloat_capture::{Notes, Rest};
use unbloat_trace::Params;
use unbloat_units::Time;
use unbloat_wire::Batch;

/// How finely a trace is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// Parts of its time, each of which is dealt by one task.
    pub slices: u32,
    /// Parts of its clients, each of which is analysed by one task.
    pub buckets: u32,
    /// Batches of 4,096 packets that a slice reads of the slice before, to know what that remembers.
    pub warm_up_batches: u32,
}

impl Cut {
    /// Packets of a slice, if nobody says: about 500 MB of a capture of headers.
    const SLICE: u64 = 1 << 22;
    /// Nearly always enough: after so many packets nothing is remembered of those before. See docs/cluster.md.
    pub const WARM_UP: u32 = 16;

    /// Each task has lists of all slices and of all buckets.
    fn is_bearable(&self) -> bool {
        self.slices <= 1 << 20
            && self.buckets <= 1 << 16
            && u64::from(self.slices) * u64::from(self.buckets) <= 1 << 26
    }

    fn of(packets: u64, asked: AskedCut) -> Cut {
        let usual = packets.div_ceil(Cut::SLICE).clamp(1, 1 << 20) as u32;
        let slices = asked.slices.unwrap_or(usual).max(1);
        Cut {
            slices,
            buckets: asked.buckets.unwrap_or(slices.min(64)).max(1),
            warm_up_batches: asked.warm_up_batches.unwrap_or(Cut::WARM_UP),
        }
    }
}

/// What is asked of the cut; the rest depends on the number of packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct AskedCut {
    pub slices: Option<u32>,
    pub buckets: Option<u32>,
    pub warm_up_batches: Option<u32>,
}

impl AskedCut {
    fn is_met_by(&self, cut: &Cut) -> bool {
        let is_met = |asked: Option<u32>, is: u32| asked.is_none_or(|asked| asked == is);
        is_met(self.slices, cut.slices)
            && is_met(self.buckets, cut.buckets)
            && is_met(self.warm_up_batches, cut.warm_up_batches)
    }
}

/// `plan.json`: written once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Told by all files of this plan.
    pub id: String,
    pub reading: Reading,
    pub params: Params,
    pub cut: Cut,
    pub packets: u64,
    /// Time of the first packet.
    pub origin_ns: i64,
    /// In the order of their first packets.
    pub inputs: Vec<PlannedInput>,
    /// What there is to know of the captures beside their packets.
    pub notes: Notes,
}

/// A capture of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedInput {
    pub name: String,
    pub size_bytes: Option<u64>,
}

/// `slices-PLAN/N.json`: what one slice needs to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Slice {
    pub(crate) plan: String,
    /// Of the slice, without what it reads of the one before.
    pub(crate) first_packet: u64,
    pub(crate) end_packet: u64,
    /// Number of the first packet that is read.
    pub(crate) read_from: u64,
    pub(crate) rests: Vec<StoredRest>,
    /// Flows that are reversed where it is read from.
    pub(crate) reversed: Vec<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredRest {
    /// Number of the input in the plan.
    pub(crate) input: u32,
    pub(crate) first_ns: i64,
    pub(crate) packets: u64,
    pub(crate) offset: u64,
}

const FILE: &str = "plan.json";
const TOO_FINE: &str = "it has more slices and buckets than can be borne: 65,536 buckets, and 67,108,864 pieces of slices";
pub(crate) const PACKETS: u64 = Batch::PACKETS as u64;

impl Plan {
    /// That of a place.
    pub fn of(place: &Place) -> Result<Plan, ClusterError> {
        let plan: Option<Plan> = place.document(FILE, Repair::None)?;
        let plan = plan.ok_or_else(|| place.missing(FILE, "plan"))?;
        match plan.cut.is_bearable() {
            true => Ok(plan),
            false => Err(place.damaged(FILE, Repair::None, TOO_FINE)),
        }
    }

    pub(crate) fn slice(&self, place: &Place, number: u32) -> Result<Slice, ClusterError> {
        self.check_number(place, "slice", number, self.cut.slices)?;
        let file = slice_file(&self.id, number);
        let slice: Option<Slice> = place.document(&file, Repair::None)?;
        let slice = slice.ok_or_else(|| place.damaged(&file, Repair::None, "it is missing"))?;
        self.check(place, &file, &slice.plan)?;
        Ok(slice)
    }

    pub(crate) fn rests(&self, place: &Place, slice: &Slice) -> Result<Vec<Rest>, ClusterError> {
        let names = self.names();
        let stored = slice.rests.iter();
        let wanted: Option<Vec<&str>> = stored
            .map(|rest| names.get(rest.input as usize).copied())
            .collect();
        let unknown = "a slice names an input that the plan does not have";
        let wanted = wanted.ok_or_else(|| place.damaged(FILE, Repair::None, unknown))?;
        // One name is one input: it was expanded when it was indexed.
        let inputs = crate::remote::named(&wanted)?;
        let rests = inputs.into_iter().zip(&slice.rests);
        Ok(rests
            .map(|(input, rest)| Rest {
                input,
                first: Time::from_ns(rest.first_ns),
                packets: rest.packets,
                offset: rest.offset,
            })
            .collect())
    }

    /// Of the captures.
    pub(crate) fn names(&self) -> Vec<&str> {
        let inputs = self.inputs.iter();
        inputs.map(|input| input.name.as_str()).collect()
    }

    /// Whether a file is of this plan.
    pub(crate) fn check(&self, place: &Place, file: &str, plan: &str) -> Result<(), ClusterError> {
        if plan == self.id {
            return Ok(());
        }
        Err(ClusterError::OtherPlan {
            file: place.file(file),
            place: place.name().to_owned(),
        })
    }

    pub(crate) fn check_number(
        &self,
        place: &Place,
        what: &'static str,
        number: u32,
        count: u32,
    ) -> Result<(), ClusterError> {
        if number < count {
            return Ok(());
        }
        Err(ClusterError::NoSuch {
            place: place.name().to_owned(),
            what,
            number,
            count,
        })
    }
}

fn slice_file(plan: &str, number: u32) -> String {
    format!("slices-{plan}/{number:06}.json")
}

/// Makes the plan of all captures that have an index here, or returns the one that there is.
pub fn plan(place: &Place, params: &Params, asked: AskedCut) -> Result<Plan, ClusterError> {
    let job = Job::of(place)?;
    if place.get(FILE)?.is_some() {
        return same(place, params, asked);
    }
    let mut indexes = index::all(place)?;
    let packets: u64 = indexes.iter().map(|index| index.packets).sum();
    let notes = notes(&indexes);
    indexes.retain(|index| index.packets > 0);
    // Stable: those that begin at once stay in the order of their names.
    indexes.sort_by_key(|index| index.spans[0].3);
    let first = indexes.first().ok_or_else(|| ClusterError::NoPackets {
        place: place.name().to_owned(),
    })?;
    let cut = Cut::of(packets, asked);
    if !cut.is_bearable() {
        return Err(place.damaged(FILE, Repair::None, TOO_FINE));
    }
    let id = getrandom::u64().map_err(ClusterError::Random)?;
    let plan = Plan {
        id: format!("{id:016x}"),
        reading: job.reading,
        params: params.clone(),
        cut,
        packets,
        origin_ns: first.spans[0].3,
        inputs: indexes.iter().map(planned).collect(),
        notes,
    };
    // Under the plan's own name: a plan that comes second leaves files that nobody reads.
    for (number, slice) in slices_of(&plan, &indexes)?.iter().enumerate() {
        place.put_document(&slice_file(&plan.id, number as u32), slice)?;
    }
    match place.commit(FILE, &plan)? {
        true => Ok(plan),
        false => same(place, params, asked),
    }
}

/// The plan that there is, if it is the one that is asked for.
fn same(place: &Place, params: &Params, asked: AskedCut) -> Result<Plan, ClusterError> {
    let plan = Plan::of(place)?;
    let other = |what| ClusterError::OtherOptions {
        place: place.name().to_owned(),
        what,
    };
    if !asked.is_met_by(&plan.cut) {
        return Err(other("another number of slices or buckets"));
    }
    if plan.params != *params {
        return Err(other("other parameters of the analysis"));
    }
    Ok(plan)
}

fn planned(index: &Index) -> PlannedInput {
    PlannedInput {
        name: index.input.clone(),
        size_bytes: index.size_bytes,
    }
}

/// Of the whole trace: damage in the order in which one process would come to it.
fn notes(indexes: &[Index]) -> Notes {
    let first = |index: &Index| index.spans.first().map(|span| span.3);
    let mut ranked: Vec<&Index> = indexes.iter().collect();
    ranked.sort_by_key(|index| first(index));
    // The rank is the order before: sorting is stable.
    ranked.sort_by_key(|index| first(index).map(|_| index.last_ns));
    let mut notes = Notes::default();
    for index in ranked {
        notes.absorb(index.notes.clone());
    }
    notes
}

/// A time at which the trace can be entered, and the number of the first packet from it on.
struct Entry {
    time_ns: i64,
    packets: u64,
}

/// Entries that are at least about a batch apart.
fn entries(indexes: &[Index]) -> Vec<Entry> {
    let widest = indexes.iter().map(|index| index.span_ns).max().unwrap_or(1);
    let mut times: Vec<i64> = indexes
        .iter()
        .flat_map(|index| index.spans.iter())
        .map(|span| span.3.div_euclid(widest))
        .collect();
    times.sort_unstable();
    times.dedup();
    let mut places = vec![0; indexes.len()];
    let mut entries: Vec<Entry> = Vec::new();
    for time in times {
        let time_ns = time * widest;
        let packets = indexes.iter().zip(&mut places).map(|(index, at)| {
            let number = time_ns.div_euclid(index.span_ns);
            while index.spans.get(*at).is_some_and(|span| span.0 < number) {
                *at += 1;
            }
            index.spans.get(*at).map_or(index.packets, |span| span.1)
        });
        let packets = packets.sum();
        if entries
            .last()
            .is_none_or(|last| packets >= last.packets + PACKETS)
        {
            entries.push(Entry { time_ns, packets });
        }
    }
    entries
}

fn slices_of(plan: &Plan, indexes: &[Index]) -> Result<Vec<Slice>, ClusterError> {
    let entries = entries(indexes);
    let batches = plan.packets.div_ceil(PACKETS);
    let slices = u64::from(plan.cut.slices);
    let mut reversals = Reversals::of(indexes);
    let cut = (0..slices).map(|number| {
        let first = batches * number / slices * PACKETS;
        let end = (batches * (number + 1) / slices * PACKETS).min(plan.packets);
        let warm_up = u64::from(plan.cut.warm_up_batches) * PACKETS;
        let from = first.saturating_sub(warm_up);
        let at = entries.partition_point(|entry| entry.packets <= from);
        let entry = &entries[at.saturating_sub(1)];
        // Those that begin later have no packet of this slice.
        let after = entries.iter().find(|later| later.packets >= end);
        let is_later = |span: &Span| after.is_some_and(|after| span.3 >= after.time_ns);
        let rests = indexes.iter().enumerate().filter_map(|(input, index)| {
            let span = index.from(entry.time_ns).filter(|span| !is_later(span))?;
            Some(StoredRest {
                input: input as u32,
                first_ns: span.3,
                packets: span.1,
                offset: span.2,
            })
        });
        Ok(Slice {
            plan: plan.id.clone(),
            first_packet: first,
            end_packet: end,
            read_from: entry.packets,
            rests: rests.collect(),
            reversed: reversals.until(entry.time_ns)?,
        })
    });
    cut.collect()
}

/// Flows that are reversed, followed through the trace.
struct Reversals {
    changes: VecDeque<(i64, u64)>,
    reversed: Vec<u64>,
}

impl Reversals {
    fn of(indexes: &[Index]) -> Reversals {
        let mut changes: Vec<(i64, u64)> = indexes
            .iter()
            .flat_map(|index| index.contradicted.iter().copied())
            .collect();
        changes.sort_by_key(|change| change.0);
        Reversals {
            changes: changes.into(),
            reversed: Vec::new(),
        }
    }

    fn until(&mut self, time_ns: i64) -> Result<Vec<u64>, ClusterError> {
        while let Some(&(_, flow_hash)) = self.changes.front().filter(|c| c.0 < time_ns) {
            self.changes.pop_front();
            self.reversed.push(flow_hash);
        }
        self.reversed.sort_unstable();
        self.reversed.dedup();
        let most = unbloat_trace::Orientation::MAX_REVERSED;
        if self.reversed.len() > most {
            return Err(ClusterError::TooManyReversed { most });
        }
        Ok(self.reversed.clone())
    }
}
