//! Packets that pass the device and never reach the shaper.

use unbloat_cake_nfqueue::Event;
use unbloat_os::stacked::packets;
use unbloat_units::{Both, Direction};

/// So many packets of the device without one in the shaper are no chance: some are ARP and the like.
const MANY: u64 = 1_000;

/// Compares the shaper's counters with the device's.
pub struct Unseen {
    interface: String,
    /// The device's counters at the start; none if it does not tell.
    began: Option<Both<u64>>,
    told: Both<bool>,
}

fn counters(interface: &str) -> Option<Both<u64>> {
    let (received, sent) = packets(interface).ok()?;
    Some(Both::new(received, sent))
}

impl Unseen {
    pub fn new(interface: &str) -> Unseen {
        Unseen {
            began: counters(interface),
            interface: interface.to_owned(),
            told: Both::default(),
        }
    }

    /// What to tell, once for each direction.
    pub fn look(&mut self, event: &Event) -> Option<String> {
        let Event::Counts { sides, .. } = event else {
            return None;
        };
        let (began, now) = (self.began?, counters(&self.interface)?);
        let unseen = |direction: &Direction| {
            let counts = sides[*direction].as_ref();
            counts.is_some_and(|counts| counts.packets + counts.dropped == 0)
                && now[*direction].saturating_sub(began[*direction]) > MANY
                && !self.told[*direction]
        };
        let direction = Direction::BOTH.into_iter().find(unseen)?;
        self.told[direction] = true;
        Some(format!(
            "{}: more than {MANY} packets passed {}, and none of them the shaper; they are not IP, or pass below it (a bridge, flow offloading, XDP)",
            direction.name(),
            self.interface
        ))
    }
}
