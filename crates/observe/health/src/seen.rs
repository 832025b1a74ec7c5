//! Counts for [`Health`](crate::Health), of a capture or of a part of one.

use crate::clock::TOLD;
use crate::offload::Sizes;
use crate::{ClockHealth, Copied, Order, Sides, Snap};
use serde::{Deserialize, Serialize};
use unbloat_units::Delta;
use unbloat_wire::LinkCounts;

/// Counts of a part of a capture. Those of parts that follow one another add up to those of the whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    pub(crate) sizes: Sizes,
    pub(crate) packets: u64,
    pub(crate) tcp_packets: u64,
    pub(crate) copied: Sides<Copied>,
    pub(crate) clock: ClockHealth,
    pub(crate) order: Order,
    pub(crate) snap: Snap,
    pub(crate) unread: LinkCounts,
    pub(crate) encrypted: u64,
}

impl Seen {
    /// Adds the counts of the next part. `shift` is added to its times.
    pub fn absorb(&mut self, later: &Seen, shift: Delta) {
        self.sizes.absorb(later.sizes);
        self.packets += later.packets;
        self.tcp_packets += later.tcp_packets;
        self.copied.down.absorb(later.copied.down);
        self.copied.up.absorb(later.copied.up);
        self.clock.steps += later.clock.steps;
        let room = TOLD.saturating_sub(self.clock.first.len());
        let steps = later.clock.first.iter().take(room);
        self.clock.first.extend(steps.map(|step| crate::Step {
            time_ns: step.time_ns + shift.as_ns(),
            ..*step
        }));
        self.order.late_packets += later.order.late_packets;
        let most_late = &mut self.order.most_late_ns;
        *most_late = (*most_late).max(later.order.most_late_ns);
        self.snap.options_cut += later.snap.options_cut;
        self.snap.headers_cut += later.snap.headers_cut;
        self.snap.payload_packets += later.snap.payload_packets;
        self.snap.payload_cut += later.snap.payload_cut;
        self.encrypted += later.encrypted;
        for (number, packets) in later.unread.iter() {
            self.unread.add(number, packets);
        }
    }
}

impl Copied {
    fn absorb(&mut self, later: Copied) {
        self.packets += later.packets;
        self.copies += later.copies;
    }
}
