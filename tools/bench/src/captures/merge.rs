//! Many copies of the base as one trace in time order.

use super::base::{Base, Packet};
use super::random::uniform;
use super::recipe::{BETWEEN_ROUNDS_S, Recipe};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A packet of some copy.
pub struct Copied<'b> {
    pub packet: &'b Packet,
    pub time_ns: i64,
    pub copy: u32,
}

/// Packets of all copies that a recipe asks for, in time order; ties in the order of copies.
pub struct Copies<'b> {
    packets: Vec<&'b Packet>,
    shifts_ns: Vec<i64>,
    /// Time of the next packet of each copy, the copy, and which packet that is.
    next: BinaryHeap<Reverse<(i64, u32, u32)>>,
}

impl<'b> Copies<'b> {
    pub fn new(base: &'b Base, recipe: &Recipe) -> Copies<'b> {
        let takes = recipe.flows.of(base);
        let packets = base.packets.iter().filter(|p| takes[p.flow as usize]);
        let packets: Vec<&Packet> = packets.collect();
        let shifts_ns: Vec<i64> = (0..recipe.copies).map(|k| shift_ns(recipe, k)).collect();
        let first = packets.first().map(|p| p.time_ns);
        let starts = shifts_ns.iter().zip(0..);
        let next = starts.filter_map(|(shift, k)| Some(Reverse((first? + shift, k, 0))));
        Copies {
            next: next.collect(),
            packets,
            shifts_ns,
        }
    }
}

impl<'b> Iterator for Copies<'b> {
    type Item = Copied<'b>;

    fn next(&mut self) -> Option<Copied<'b>> {
        let mut top = self.next.peek_mut()?;
        let Reverse((time_ns, copy, at)) = *top;
        let packet = self.packets[at as usize];
        if let Some(following) = self.packets.get(at as usize + 1) {
            *top = Reverse((
                following.time_ns + self.shifts_ns[copy as usize],
                copy,
                at + 1,
            ));
        } else {
            std::collections::binary_heap::PeekMut::pop(top);
        }
        Some(Copied {
            packet,
            time_ns,
            copy,
        })
    }
}

fn shift_ns(recipe: &Recipe, copy: u32) -> i64 {
    let per_round = recipe.copies.div_ceil(recipe.rounds);
    // Each round repeats the phases of the first: its concurrency is the same.
    let phase_s = uniform(u64::from(copy % per_round)) * recipe.spread_s;
    ((phase_s + f64::from(copy / per_round) * BETWEEN_ROUNDS_S) * 1e9) as i64
}
