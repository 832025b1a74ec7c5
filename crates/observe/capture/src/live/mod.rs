//! Packets of a network interface as they pass.
//!
//! # References
//! - packet(7); the kernel's Documentation/networking/packet_mmap.rst (TPACKET_V3).
//!
//! # What is captured
//! On Ethernet interfaces and loopback, whole frames; VLAN tags that the hardware or the driver
//! took off are put back. On interfaces of other kinds (TUN, PPP, tunnels) the packet above the
//! link layer, as raw IP: their headers differ by driver, and nothing in them is of use here.
//! Loopback shows each packet twice, going out and coming in; only the latter is taken.

mod block;
mod headers;
mod ring;
mod stamps;

pub use headers::{LiveHeaders, Passed};

use crate::{CaptureError, Notes, Progress, Record, Source};
use block::{Packet, Packets};
use ring::{Ring, RingError};
use std::io;
use tracing::{debug, info};
use unbloat_units::{Bytes, Delta, Time};
use unbloat_wire::LinkType;

/// How to capture from an interface.
#[derive(Clone, Debug)]
pub struct LiveOptions {
    /// Bytes of each packet to keep. The default, 256, holds all headers, GTP-U's included.
    pub snap_len: u32,
    /// Whether to see packets that are not for this machine.
    pub promiscuous: bool,
    /// How long `next` and `fill` wait for a packet.
    pub timeout: Delta,
    /// The kernel's buffer: at 10 Gbit/s of full-sized packets the default, 32 MiB, lasts 0.1 s.
    pub ring: Bytes,
}

impl Default for LiveOptions {
    fn default() -> LiveOptions {
        LiveOptions {
            snap_len: 256,
            promiscuous: false,
            timeout: Delta::ms(100),
            ring: Bytes::mib(32),
        }
    }
}

/// An interface being captured. It ends only after it is closed.
pub struct LiveSource {
    interface: String,
    ring: Ring,
    /// What is left of the block that the kernel has handed over.
    packets: Packets,
    kind: Kind,
    timeout: Delta,
    seen: u64,
    captured: Bytes,
    last_time: Time,
    backward_steps: u64,
    drops: u64,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// No more packets come into the ring.
    Closed,
    /// And none are left in it.
    Ended,
}

/// What the frames of an interface are to us, by its hardware type (ARPHRD_).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Ethernet,
    /// Ethernet frames, each seen twice.
    Loopback,
    /// The link layer is left out.
    Ip,
}

impl Kind {
    fn of(arphrd: u16) -> Option<Kind> {
        match arphrd {
            libc::ARPHRD_ETHER => Some(Kind::Ethernet),
            libc::ARPHRD_LOOPBACK => Some(Kind::Loopback),
            // Frames of the air, in monitor mode: there is no IP packet right above them.
            libc::ARPHRD_IEEE80211
            | libc::ARPHRD_IEEE80211_PRISM
            | libc::ARPHRD_IEEE80211_RADIOTAP => None,
            _ => Some(Kind::Ip),
        }
    }

    fn link(self) -> LinkType {
        match self {
            Kind::Ethernet | Kind::Loopback => LinkType::Ethernet,
            Kind::Ip => LinkType::RawIp,
        }
    }
}

/// An interface as the kernel knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    pub index: u32,
    /// What its frames are to us.
    pub link: LinkType,
}

impl Interface {
    pub fn named(interface: &str) -> Result<Interface, CaptureError> {
        let (index, kind) = look_up(interface)?;
        Ok(Interface {
            index: index.unsigned_abs(),
            link: kind.link(),
        })
    }
}

fn look_up(interface: &str) -> Result<(libc::c_int, Kind), CaptureError> {
    let index = ring::interface_index(interface).ok_or_else(|| CaptureError::NoInterface {
        interface: interface.to_owned(),
    })?;
    let arphrd = ring::hardware_type(interface).map_err(|error| named(interface, error))?;
    let kind = Kind::of(arphrd).ok_or_else(|| CaptureError::HardwareType {
        interface: interface.to_owned(),
        arphrd,
    })?;
    Ok((index, kind))
}

impl LiveSource {
    /// Begins to capture; needs CAP_NET_RAW.
    pub fn open(interface: &str, options: &LiveOptions) -> Result<LiveSource, CaptureError> {
        let (index, kind) = look_up(interface)?;
        let with_link_header = kind != Kind::Ip;
        let ring = Ring::open(index, with_link_header, options)
            .map_err(|error| named(interface, error))?;
        info!(
            interface,
            index,
            ?kind,
            snap_len = options.snap_len,
            "capturing"
        );
        Ok(LiveSource {
            interface: interface.to_owned(),
            ring,
            packets: Packets::default(),
            kind,
            timeout: options.timeout,
            seen: 0,
            captured: Bytes::ZERO,
            last_time: Time::MIN,
            backward_steps: 0,
            drops: 0,
            phase: Phase::Open,
        })
    }

    /// As [`Source::fill`], and whether this machine sent the packet.
    pub fn fill_with_way(
        &mut self,
        max: usize,
        sink: &mut dyn FnMut(Record<'_>, bool),
    ) -> Result<usize, CaptureError> {
        let mut delivered = 0;
        while delivered < max {
            let Some(packet) = self.advance(delivered == 0)? else {
                break;
            };
            sink(self.record(packet), packet.outgoing);
            delivered += 1;
        }
        Ok(delivered)
    }

    /// Finds the next packet to deliver, waiting for it up to the time-out if `wait`.
    fn advance(&mut self, wait: bool) -> Result<Option<Packet>, CaptureError> {
        let mut may_wait = wait;
        loop {
            if let Some(block) = self.ring.block() {
                while let Some(packet) = self.packets.next(block) {
                    if self.kind != Kind::Loopback || !packet.outgoing {
                        self.count(&packet);
                        return Ok(Some(packet));
                    }
                }
            }
            self.ring.release();
            if self.ring.take() {
                let drops = self.ring.new_drops();
                if drops > 0 {
                    debug!(
                        interface = self.interface,
                        drops, "the kernel dropped packets"
                    );
                }
                self.drops += drops;
                self.packets = Packets::of(self.ring.block().unwrap_or_default());
            } else if may_wait {
                may_wait = false;
                self.wait()?;
            } else {
                if wait && self.phase == Phase::Closed {
                    self.phase = Phase::Ended;
                }
                return Ok(None);
            }
        }
    }

    fn wait(&self) -> Result<(), CaptureError> {
        let timeout = match self.phase {
            Phase::Open => self.timeout,
            Phase::Closed | Phase::Ended => self.timeout.max(ring::LATEST),
        };
        match self.ring.wait(timeout) {
            Err(error) if self.phase == Phase::Open => Err(named(&self.interface, error)),
            // An interface that is gone does not matter any more: its packets are in the ring.
            _ => Ok(()),
        }
    }

    fn count(&mut self, packet: &Packet) {
        self.seen += 1;
        self.captured += Bytes::new((packet.end - packet.start) as u64);
        self.backward_steps += u64::from(packet.time < self.last_time);
        self.last_time = packet.time;
    }

    /// Lends the bytes of a packet of the current block.
    fn record(&mut self, packet: Packet) -> Record<'_> {
        let link = self.kind.link();
        let block = self.ring.block_mut().unwrap_or_default();
        let tagged = packet.vlan.filter(|_| self.kind != Kind::Ip);
        let (start, wire_len) = match tagged {
            Some(tag) => (
                block::put_tag_back(block, &packet, tag),
                packet.wire_len + 4,
            ),
            None => (packet.start, packet.wire_len),
        };
        Record {
            time: packet.time,
            link,
            wire_len,
            data: &block[start..packet.end],
        }
    }
}

fn named(interface: &str, RingError { action, source }: RingError) -> CaptureError {
    let interface = interface.to_owned();
    match source.kind() {
        io::ErrorKind::PermissionDenied => CaptureError::NotPermitted { interface },
        _ => CaptureError::Live {
            interface,
            action,
            source,
        },
    }
}

impl Source for LiveSource {
    fn next(&mut self) -> Result<Option<Record<'_>>, CaptureError> {
        let packet = self.advance(true)?;
        Ok(packet.map(|packet| self.record(packet)))
    }

    fn fill(
        &mut self,
        max: usize,
        sink: &mut dyn FnMut(Record<'_>),
    ) -> Result<usize, CaptureError> {
        self.fill_with_way(max, &mut |record, _| sink(record))
    }

    fn patience(&self) -> Option<Delta> {
        Some(self.timeout)
    }

    fn close(&mut self) {
        if self.phase != Phase::Open {
            return;
        }
        // Packets that keep coming could keep the ring from ever being empty.
        self.phase = match self.ring.refuse() {
            Ok(()) => Phase::Closed,
            Err(_) => Phase::Ended,
        };
    }

    fn ended(&self) -> bool {
        self.phase == Phase::Ended
    }

    fn progress(&self) -> Progress {
        Progress {
            done: self.captured,
            total: None,
            dropped: self.drops,
        }
    }

    fn notes(&mut self) -> Notes {
        self.drops += self.ring.new_drops();
        Notes {
            damage: Vec::new(),
            packets: self.seen,
            kernel_drops: Some(self.drops),
            backward_steps: self.backward_steps,
        }
    }
}
