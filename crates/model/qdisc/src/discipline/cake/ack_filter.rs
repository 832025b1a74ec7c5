//! Drops ACKs that a later one of the same flow makes superfluous (Linux `cake_ack_filter`).

use super::params::AckFilter;
use crate::packet::{Packet, PureAck};
use crate::slab::{List, Place, Slab};

/// Takes an ACK out of the queue whose last packet has just been added, if there is one to take.
pub(super) fn filter(slab: &mut Slab, list: &mut List, mode: AckFilter) -> Option<Packet> {
    let newest = *slab.last(list)?;
    let trigger = newest.pure_ack?;
    let mut eligible: Option<Candidate> = None;
    let mut before = None;
    let mut place = list.first()?;
    while let Some(next) = slab.after(place) {
        let packet = slab.packet(place);
        if let Some(ack) = packet.pure_ack
            && packet.flow == newest.flow
        {
            if ack.is_special {
                // What it tells must not be confused with what older ones tell.
                eligible = None;
            } else if is_superseded(ack, trigger) {
                match eligible {
                    // Two of them: the older one goes, the newer one and the trigger remain.
                    Some(first) => return Some(slab.remove(list, first.before)),
                    None => eligible = Some(Candidate { before, place }),
                }
            }
        }
        before = Some(place);
        place = next;
    }
    let last = eligible?;
    let is_next_to_newest = slab
        .after(last.place)
        .is_some_and(|next| slab.after(next).is_none());
    let may_go = mode == AckFilter::Aggressive && is_next_to_newest && !trigger.is_special;
    may_go.then(|| slab.remove(list, last.before))
}

/// An ACK that could be dropped, and the packet in front of it.
#[derive(Clone, Copy)]
struct Candidate {
    before: Option<Place>,
    place: Place,
}

/// Whether the later ACK tells all that the earlier one does, and more.
fn is_superseded(earlier: PureAck, later: PureAck) -> bool {
    let tells_more = later.ack.after(earlier.ack) || later.sacked > earlier.sacked;
    !earlier.ack.after(later.ack) && earlier.sacked <= later.sacked && tells_more
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{FlowHash, IpLen};
    use unbloat_units::Seq;

    fn ack(handle: u32, flow: u32, ack: u32, sacked: u32, is_special: bool) -> Packet {
        Packet {
            pure_ack: Some(PureAck {
                ack: Seq::new(ack),
                sacked,
                is_special,
            }),
            ..Packet::new(handle, IpLen::new(52), FlowHash(flow))
        }
    }

    fn filtered(packets: &[Packet], mode: AckFilter) -> Vec<u32> {
        let mut slab = Slab::new();
        let mut list = List::default();
        packets
            .iter()
            .filter_map(|packet| {
                slab.push(&mut list, *packet);
                Some(filter(&mut slab, &mut list, mode)?.handle)
            })
            .collect()
    }

    #[test]
    fn of_three_acks_the_first_goes_and_aggressively_of_two() {
        let acks = [1, 2, 3, 4].map(|k| ack(k, 1, k * 100, 0, false));
        assert_eq!(filtered(&acks, AckFilter::Conservative), [1, 2]);
        assert_eq!(filtered(&acks, AckFilter::Aggressive), [1, 2, 3]);
    }

    #[test]
    fn duplicates_other_flows_special_ones_and_data_stay() {
        let duplicates = [1, 2, 3].map(|k| ack(k, 1, 100, 0, false));
        assert_eq!(filtered(&duplicates, AckFilter::Aggressive), [0; 0]);
        let flows = [1, 2, 3].map(|k| ack(k, k, k * 100, 0, false));
        assert_eq!(filtered(&flows, AckFilter::Aggressive), [0; 0]);
        let special = [1, 2, 3].map(|k| ack(k, 1, k * 100, 0, k == 2));
        assert_eq!(filtered(&special, AckFilter::Aggressive), [0; 0]);
        let data = [1, 2, 3].map(|k| Packet::new(k, IpLen::new(1_500), FlowHash(1)));
        assert_eq!(filtered(&data, AckFilter::Aggressive), [0; 0]);
    }

    #[test]
    fn an_ack_that_sacks_less_gives_way_and_one_that_sacks_more_stays() {
        let growing = [1, 2, 3].map(|k| ack(k, 1, 100, k * 1_000, false));
        assert_eq!(filtered(&growing, AckFilter::Conservative), [1]);
        let shrinking = [1, 2, 3].map(|k| ack(k, 1, k * 100, 9_000 - k * 1_000, false));
        assert_eq!(filtered(&shrinking, AckFilter::Aggressive), [0; 0]);
    }
}
