//! The device that a queue feeds, as far as queue disciplines look at it.

use crate::packet::Packet;
use crate::queue::Backlog;
use unbloat_params::range::FRAME_BYTES;
use unbloat_params::{Read, Settings};

/// Frame sizes of the device below the queue.
///
/// Linux disciplines count a packet with its link-layer header, and compare with the device's MTU
/// plus that header. Quanta and thresholds decide packet by packet, so the 14 bytes matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// Longest IP packet, in bytes.
    pub mtu: u32,
    /// Link-layer header that is counted with each packet, in bytes.
    pub header: u32,
}

impl Device {
    pub const ETHERNET: Device = Device {
        mtu: 1_500,
        header: 14,
    };

    /// The longest frame, in bytes.
    pub const fn frame_mtu(self) -> u32 {
        self.mtu + self.header
    }

    /// The length of the packet's frame, in bytes.
    #[inline]
    pub const fn frame(self, packet: &Packet) -> u32 {
        packet.len.as_u32() + self.header
    }

    /// What stands in a queue, in bytes of frames.
    #[inline]
    pub const fn frames(self, backlog: Backlog) -> u64 {
        backlog.bytes.as_u64() + backlog.packets as u64 * self.header as u64
    }

    /// The memory that a kernel keeps for the packet: its bookkeeping, and a buffer from the pool
    /// of the next power of two that holds the frame, 64 bytes of headroom and 320 bytes at the
    /// end. 2,304 bytes for a full Ethernet frame and 768 for an ACK, as Linux on 64 bits.
    #[inline]
    pub const fn memory(self, packet: &Packet) -> u32 {
        const BOOKKEEPING: u32 = 256;
        const HEADROOM: u32 = 64;
        const TAIL: u32 = 320;
        let buffer = HEADROOM + self.frame(packet) + TAIL;
        BOOKKEEPING + buffer.next_power_of_two()
    }
}

impl<S: Settings> Read<S> for Device {
    /// The frames that a discipline counts.
    fn read(settings: &mut S) -> Result<Device, S::Error> {
        Ok(Device {
            mtu: settings.within("mtu_bytes", Device::ETHERNET.mtu, &(68..=65_535))?,
            header: settings.within("header_bytes", Device::ETHERNET.header, &FRAME_BYTES)?,
        })
    }
}

impl Default for Device {
    fn default() -> Device {
        Device::ETHERNET
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{FlowHash, IpLen};

    #[test]
    fn a_full_frame_and_an_ack_take_the_memory_that_linux_charges() {
        let memory = |len| Device::ETHERNET.memory(&Packet::new(0, IpLen::new(len), FlowHash(0)));
        assert_eq!((memory(1_500), memory(52)), (2_304, 768));
    }
}
