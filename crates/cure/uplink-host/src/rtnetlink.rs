//! The rate of an HTB class, told to the kernel in one message: a control that does so fifty times a second cannot start `tc` for each.

use std::io;
use unbloat_os::netlink::{Attributes, Family, Netlink};
use unbloat_units::{Delta, Rate};

const NEW_CLASS: u16 = 40;
const KIND: u16 = 1;
const OPTIONS: u16 = 2;
const PARAMETERS: u16 = 1;
const RATE64: u16 = 6;
const CEIL64: u16 = 7;
const ETHERNET: u8 = 1;
/// The kernel's scheduler ticks (PSCHED_SHIFT 6).
const NS_PER_TICK: i64 = 64;
/// What may leave at once: as much as the kernel's timers are late on a busy machine.
const BURST: Delta = Delta::ms(2);

/// `1:1`, in the HTB `1:`.
const CLASS: u32 = 0x0001_0001;
const PARENT: u32 = 0x0001_0000;

#[derive(Debug)]
pub(crate) struct Rates {
    netlink: Netlink,
    device: u32,
}

impl Rates {
    pub(crate) fn open(device: u32) -> io::Result<Rates> {
        let netlink = Netlink::open(Family::Route)?;
        Ok(Rates { netlink, device })
    }

    pub(crate) fn set(&self, rate: Rate) -> io::Result<()> {
        self.netlink.tell(NEW_CLASS, &class(self.device, rate))
    }
}

fn class(device: u32, rate: Rate) -> Vec<u8> {
    let attributes = Attributes::new().text(KIND, "htb");
    let attributes = attributes.nested(OPTIONS, &parameters(rate)).to_bytes();
    let fixed = [0, device, CLASS, PARENT, 0].map(u32::to_ne_bytes).concat();
    [fixed, attributes].concat()
}

/// `struct tc_htb_opt` and the rates in 64 bits.
fn parameters(rate: Rate) -> Attributes {
    let bytes = (rate.as_bps() / 8).max(1);
    // At least a full packet's time, or it would wait for tokens that never come.
    let packet = Delta::from_secs_f64(1_600.0 / bytes as f64);
    let burst = BURST.max(packet).as_ns() / NS_PER_TICK;
    let burst = u32::try_from(burst).unwrap_or(u32::MAX);
    let mut spec = vec![0, ETHERNET, 0, 0, 0, 0, 0, 0];
    spec.extend(u32::try_from(bytes).unwrap_or(u32::MAX).to_ne_bytes());
    let words = [burst, burst, 1_514, 0, 0].map(u32::to_ne_bytes).concat();
    let parameters = [&spec[..], &spec, &words].concat();
    Attributes::new()
        .bytes(PARAMETERS, &parameters)
        .u64(RATE64, bytes)
        .u64(CEIL64, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_os::netlink::attribute;

    #[test]
    fn a_message_has_the_class_and_the_rate() {
        let message = class(7, Rate::mbps(8));
        let word = |at: usize| u32::from_ne_bytes(message[at..at + 4].try_into().unwrap());
        assert_eq!([word(4), word(8), word(12)], [7, CLASS, PARENT]);
        let options = attribute(&message[20..], OPTIONS).unwrap();
        let rate = attribute(options, RATE64).unwrap();
        assert_eq!(rate, 1_000_000u64.to_ne_bytes());
        // 2 ms.
        let parameters = attribute(options, PARAMETERS).unwrap();
        assert_eq!(parameters.len(), 44);
        assert_eq!(parameters[24..28], 31_250u32.to_ne_bytes());
    }

    #[test]
    fn a_slow_class_lets_a_whole_packet_go() {
        let options = parameters(Rate::kbps(64)).to_bytes();
        let parameters = attribute(&options, PARAMETERS).unwrap();
        let ticks = u32::from_ne_bytes(parameters[24..28].try_into().unwrap());
        assert_eq!(i64::from(ticks) * NS_PER_TICK, 200_000_000);
    }
}
