//! What happens in a world, step by step, drawn at random.

use proptest::prelude::*;

/// Flows of a world: six places between four clients and their servers.
pub const FLOWS: usize = 24;

/// What happens next in a flow; `up` is from its client.
#[derive(Clone, Debug)]
pub enum Deed {
    Syn,
    SynAck,
    Data {
        up: bool,
        len: u16,
    },
    /// An ACK of all but the last `behind` bytes that came.
    Ack {
        up: bool,
        behind: u16,
    },
    /// An ACK that stays where it was and names what came beyond a hole.
    Sack {
        up: bool,
    },
    /// Data that the monitor did not see.
    Hole {
        up: bool,
        len: u16,
    },
    /// Bytes sent before, once more.
    Resend {
        up: bool,
        back: u16,
        len: u16,
    },
    Fin {
        up: bool,
    },
    Rst {
        up: bool,
    },
    CloseWindow {
        up: bool,
    },
    /// The flow's last packet, captured twice.
    Copy,
    /// An HTTP head or, over UDP, a DNS message.
    Head {
        up: bool,
    },
    /// Bytes instead of a packet.
    Garbage(Vec<u8>),
}

#[derive(Clone, Debug)]
pub struct Step {
    pub flow: usize,
    pub gap_us: i64,
    pub deed: Deed,
}

fn deed() -> impl Strategy<Value = Deed> {
    let mostly_down = prop::bool::weighted(0.3);
    let length = prop_oneof![4 => Just(1448u16), 1 => 1u16..3000, 1 => Just(1u16)];
    prop_oneof![
        3 => Just(Deed::Syn),
        3 => Just(Deed::SynAck),
        20 => (mostly_down, length.clone()).prop_map(|(up, len)| Deed::Data { up, len }),
        20 => (prop::bool::weighted(0.7), prop_oneof![3 => Just(0), 1 => 0u16..5000])
            .prop_map(|(up, behind)| Deed::Ack { up, behind }),
        3 => any::<bool>().prop_map(|up| Deed::Sack { up }),
        2 => (mostly_down, length.clone()).prop_map(|(up, len)| Deed::Hole { up, len }),
        4 => (mostly_down, 0u16..20_000, length)
            .prop_map(|(up, back, len)| Deed::Resend { up, back, len }),
        1 => any::<bool>().prop_map(|up| Deed::Fin { up }),
        1 => any::<bool>().prop_map(|up| Deed::Rst { up }),
        1 => any::<bool>().prop_map(|up| Deed::CloseWindow { up }),
        2 => Just(Deed::Copy),
        3 => any::<bool>().prop_map(|up| Deed::Head { up }),
        1 => prop::collection::vec(any::<u8>(), 0..80).prop_map(Deed::Garbage),
    ]
}

/// Mostly milliseconds, at times beyond what the tests let flows be silent, at times a step back.
fn gap_us() -> impl Strategy<Value = i64> {
    prop_oneof![
        30 => 0i64..5_000,
        10 => 0i64..300_000,
        2 => 1_000_000i64..40_000_000,
        2 => -3_000i64..0,
        3 => Just(0i64),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    // Few flows get most of the steps, so that some grow long.
    let flow = prop_oneof![3 => 0..4usize, 2 => 0..FLOWS];
    (flow, gap_us(), deed()).prop_map(|(flow, gap_us, deed)| Step { flow, gap_us, deed })
}

pub fn steps(count: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), count)
}
