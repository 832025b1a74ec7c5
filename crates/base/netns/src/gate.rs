//! Queues that are emptied packet by packet, by whoever knows when the next one may go.
//!
//! The kernel has no queue that waits for a program: what a program reads from (TUN devices, packet sockets) drops what it has not
//! taken. A token bucket (`sch_tbf`) comes closest. Changing it fills it up again, so one of almost no rate, in which each packet
//! counts as much as the bucket holds, lets one packet go for each change. It looks for its tokens when it is given a packet: a
//! *knock*, one byte longer than the bucket takes, which it drops.

use crate::error::BedError;
use crate::host::Host;
use crate::link;
use crate::netlink::{Mode, Netlink};
use crate::queue::{self, LEAF, ROOT};
use crate::tc::{self, Discipline, Framing};
use std::io;
use tracing::debug;
use unbloat_os::packet::Sender;

/// Longer than any packet that is to pass.
const MTU: u32 = 1_800;

/// The only way out of a queue. At first it is open for one packet.
#[derive(Debug)]
pub struct Gate {
    netlink: Netlink,
    device: u32,
    bucket: Vec<u8>,
    size_table: Vec<u8>,
    knocker: Sender,
}

impl Gate {
    /// Lets one packet go: the next one that waits, which has left the device when this returns, or else the next one that comes.
    pub fn open(&self) -> io::Result<()> {
        let table = Some(&self.size_table[..]);
        let fill = queue::discipline(self.device, ROOT, "tbf", &self.bucket, table);
        let filled = self.netlink.tell(fill, Mode::Change);
        filled.map_err(|refusal| refusal.source)?;
        let is_taken = self.knocker.send(&[0; MTU as usize])?;
        debug_assert!(!is_taken, "no bucket takes a knock");
        Ok(())
    }
}

impl Host {
    /// Gives a device a queue in the words of `tc`, from which packets go one by one. They may be 1,500 bytes long.
    pub fn gate(&self, device: &str, words: &str, framing: Framing) -> Result<Gate, BedError> {
        let unlimited = 0;
        let inner = Discipline::parse(words, unlimited, framing)?;
        let limit = limit(&inner).ok_or_else(|| BedError::Queue {
            queue: words.to_owned(),
            problem: "in front of a rate that varies a FIFO needs a \"limit\"".to_owned(),
        })?;
        self.mtu(device, MTU)?;
        let index = self.index(device)?;
        let is_ethernet = link::is_ethernet(&self.netlink, device);
        // The bucket takes what the device may send, or the kernel complains; the knock must count for more.
        let frame = MTU + if is_ethernet { tc::ETHERNET_HEADER } else { 0 };
        let size_table = tc::size_table(framing.longer_than_frame()).to_bytes();
        let bucket = Discipline {
            kind: "tbf",
            options: tc::one_packet(frame, limit),
            shapes: true,
        };
        self.clear(device)?;
        self.stand(device, ROOT, &bucket, Some(&size_table))?;
        self.stand(device, LEAF, &inner, None)?;
        debug!(host = self.role(), device, words, "queue behind a gate");
        let open = || Ok((Netlink::open()?, Sender::open(index)?));
        let (netlink, knocker) = self.within(open)?.map_err(|source| BedError::Make {
            name: self.name().to_owned(),
            source,
        })?;
        Ok(Gate {
            netlink,
            device: index,
            bucket: bucket.options,
            size_table,
            knocker,
        })
    }
}

/// What a bucket tells a FIFO behind it, whenever it is filled; none: the FIFO has a limit of the kernel's.
fn limit(inner: &Discipline) -> Option<u32> {
    match inner.kind {
        "pfifo" | "bfifo" => Some(u32::from_ne_bytes(*inner.options.first_chunk()?)),
        _ => Some(0),
    }
}
