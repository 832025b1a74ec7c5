//! All slices put together: whether each began where the one before ended, and where each bucket finds its packets.

use crate::deal::{Begun, Dealt, Segment, data_file, deal_from, dealt};
use crate::edge::Remembered;
use crate::error::Repair;
use crate::job::Job;
use crate::place::attempt;
use crate::plan::Plan;
use crate::{ClusterError, Place};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use tracing::info;
use unbloat_health::{Seen, Watch};
use unbloat_trace::Orientation;
use unbloat_units::Delta;
use unbloat_wire::SkipCounts;

/// `seal.json`: no slice is dealt after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sealed {
    pub(crate) plan: String,
    attempt: String,
    pub(crate) seen: Seen,
    pub(crate) skipped: SkipCounts,
    /// Slices that had to be dealt again, because they had not remembered what the one before ended with.
    pub dealt_again: Vec<u32>,
}

/// `sealed/ATTEMPT/K.json`: where a bucket finds its packets, slice by slice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BucketList {
    pub(crate) slices: Vec<BucketSlice>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BucketSlice {
    pub(crate) slice: u32,
    pub(crate) attempt: String,
    pub(crate) first_packet: u64,
    /// Is added to its times.
    pub(crate) shift_ns: i64,
    pub(crate) batches: Segment,
    pub(crate) packets: Segment,
}

pub(crate) const FILE: &str = "seal.json";

impl Sealed {
    fn of(place: &Place, plan: &Plan) -> Result<Option<Sealed>, ClusterError> {
        let sealed: Option<Sealed> = place.document(FILE, Repair::Seal)?;
        if let Some(sealed) = &sealed {
            plan.check(place, FILE, &sealed.plan)?;
        }
        Ok(sealed)
    }

    pub(crate) fn bucket(&self, place: &Place, bucket: u32) -> Result<BucketList, ClusterError> {
        let file = bucket_file(&self.attempt, bucket);
        let list: Option<BucketList> = place.document(&file, Repair::Seal)?;
        list.ok_or_else(|| place.damaged(&file, Repair::Seal, "it is missing"))
    }
}

fn bucket_file(attempt: &str, bucket: u32) -> String {
    format!("sealed/{attempt}/{bucket:06}.json")
}

/// Seals the place, unless somebody has. All slices must have been dealt.
pub fn seal(place: &Place, is_stopped: &dyn Fn() -> bool) -> Result<Sealed, ClusterError> {
    let plan = Plan::of(place)?;
    if let Some(sealed) = Sealed::of(place, &plan)? {
        return Ok(sealed);
    }
    let job = Job::of(place)?;
    let mut chain = Chain::default();
    for number in 0..plan.cut.slices {
        let file = format!("slice {number}");
        let own = dealt(place, &plan, number)?.ok_or_else(|| place.missing(&file, "deal"))?;
        if chain.takes(&own) {
            continue;
        }
        info!(slice = number, "a slice is dealt again");
        let begun = chain.begun(place)?;
        let slice = plan.slice(place, number)?;
        let again = deal_from(
            place,
            &plan,
            &job,
            (number, &slice),
            Some(begun),
            is_stopped,
        )?;
        chain.take_again(again);
    }
    let most = Orientation::MAX_REVERSED;
    if chain.most_reversed > most {
        return Err(ClusterError::TooManyReversed { most });
    }
    let sealed = Sealed {
        plan: plan.id.clone(),
        attempt: attempt()?,
        seen: chain.seen,
        skipped: chain.skipped,
        dealt_again: chain.dealt_again,
    };
    for bucket in 0..plan.cut.buckets {
        let slices = chain.slices.iter().map(|(dealt, shift_ns)| BucketSlice {
            slice: dealt.slice,
            attempt: dealt.attempt.clone(),
            first_packet: dealt.first_packet,
            shift_ns: *shift_ns,
            batches: dealt.batches.clone(),
            packets: dealt.buckets[bucket as usize].clone(),
        });
        let list = BucketList {
            slices: slices.collect(),
        };
        place.put_document(&bucket_file(&sealed.attempt, bucket), &list)?;
    }
    if place.commit(FILE, &sealed)? {
        return Ok(sealed);
    }
    Sealed::of(place, &plan)?.ok_or_else(|| place.missing(FILE, "seal"))
}

/// The slices up to some point, each of which began where the one before ended.
#[derive(Default)]
struct Chain {
    /// With what must be added to their times.
    slices: Vec<(Dealt, i64)>,
    reversed: BTreeSet<u64>,
    most_reversed: usize,
    seen: Seen,
    skipped: SkipCounts,
    dealt_again: Vec<u32>,
}

impl Chain {
    /// Takes the next slice, if it is right.
    fn takes(&mut self, next: &Dealt) -> bool {
        let shift = match self.slices.last() {
            None => Some(0),
            Some((before, shift)) => next.start.shift_from(&before.end, *shift),
        };
        let used = &next.learnt.used;
        let is_told_right = used.iter().all(|flow| self.reversed.contains(flow));
        match shift.filter(|_| is_told_right) {
            None => false,
            Some(shift) => {
                self.take(next.clone(), shift);
                true
            }
        }
    }

    /// Takes a slice that began with what is [begun](Chain::begun).
    fn take_again(&mut self, again: Dealt) {
        let shift = self.slices.last().map_or(0, |(_, shift)| *shift);
        self.dealt_again.push(again.slice);
        self.take(again, shift);
    }

    fn take(&mut self, next: Dealt, shift_ns: i64) {
        self.seen.absorb(&next.seen, Delta::ns(shift_ns));
        self.skipped += next.skipped;
        for &(flow, is_reversed) in &next.learnt.changes {
            match is_reversed {
                true => self.reversed.insert(flow),
                false => self.reversed.remove(&flow),
            };
            self.most_reversed = self.most_reversed.max(self.reversed.len());
        }
        self.slices.push((next, shift_ns));
    }

    /// What the next slice truly begins with.
    fn begun(&self, place: &Place) -> Result<Begun, ClusterError> {
        let before = self.slices.last().map(|(dealt, _)| dealt);
        let before = before.ok_or_else(|| place.missing("the first slice", "deal"))?;
        let bytes = before
            .remembered
            .read(place, before.slice, &before.attempt)?;
        let remembered: Option<Remembered> = serde_json::from_slice(&bytes).ok();
        let resumed = remembered.and_then(|remembered| {
            let watch = Watch::resume(&remembered.state)?;
            Some((watch, remembered.watermark()))
        });
        let (watch, watermark) = resumed.ok_or_else(|| {
            let file = data_file(before.slice, &before.attempt);
            let reason = "what it remembered at its end cannot be read";
            place.damaged(&file, Repair::Deal(before.slice), reason)
        })?;
        Ok(Begun {
            watch,
            watermark,
            reversed: self.reversed.iter().copied().collect(),
        })
    }
}
