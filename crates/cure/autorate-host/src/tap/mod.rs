//! What passes an interface: from the kernel, which pairs packets itself, or packet by packet.

mod kernel;
mod packets;

use crate::error::{KernelError, SteerError};
use kernel::Kernel;
use packets::Packets;
use tracing::{debug, info};
use unbloat_autorate::{Autorate, Heard, Tally};
use unbloat_units::Time;

/// Where packets are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// In the kernel, by BPF programs: what reaches this process is what came of it.
    Bpf,
    /// Here: the headers of all packets, by AF_PACKET.
    Packets,
}

impl Source {
    pub const fn name(self) -> &'static str {
        match self {
            Source::Bpf => "bpf",
            Source::Packets => "packets",
        }
    }
}

/// Who is told of what passes.
pub trait Ear {
    /// So much has passed from that time on.
    fn passed(&mut self, since: Time, tally: &Tally);
    /// A packet came from the line.
    fn heard(&mut self, at: Time, heard: &Heard);
}

impl Ear for Autorate {
    fn passed(&mut self, since: Time, tally: &Tally) {
        Autorate::passed(self, since, tally);
        // What the shaper behind lets through is not seen here: over a while it is what came.
        if tally.came > 0 {
            self.shaped(since, u32::try_from(tally.came).unwrap_or(u32::MAX));
        }
    }

    fn heard(&mut self, at: Time, heard: &Heard) {
        Autorate::heard(self, at, heard);
    }
}

/// An interface that is listened to. Packets out of it are seen when they leave its queues, packets into it before any
/// redirection.
pub struct Tap {
    eyes: Eyes,
    refused: Option<KernelError>,
}

enum Eyes {
    Kernel(Box<Kernel>),
    Packets(Box<Packets>),
}

impl Tap {
    /// By the source that is wanted; else in the kernel if it takes the programs.
    pub fn open(interface: &str, wanted: Option<Source>) -> Result<Tap, SteerError> {
        let packets = || Packets::open(interface).map(|packets| Eyes::Packets(Box::new(packets)));
        let (eyes, refused) = match wanted {
            Some(Source::Packets) => (packets()?, None),
            Some(Source::Bpf) => (Eyes::Kernel(Box::new(Kernel::open(interface)?)), None),
            None => match Kernel::open(interface) {
                Ok(kernel) => (Eyes::Kernel(Box::new(kernel)), None),
                Err(error) => {
                    debug!(%error, "the kernel takes no programs; packets are read here");
                    (packets()?, Some(error))
                }
            },
        };
        let source = match eyes {
            Eyes::Kernel(_) => Source::Bpf,
            Eyes::Packets(_) => Source::Packets,
        };
        info!(interface, source = source.name(), "listening");
        Ok(Tap { eyes, refused })
    }

    pub fn source(&self) -> Source {
        match self.eyes {
            Eyes::Kernel(_) => Source::Bpf,
            Eyes::Packets(_) => Source::Packets,
        }
    }

    /// Why the kernel was not asked.
    pub fn refused(&self) -> Option<&KernelError> {
        self.refused.as_ref()
    }

    /// Tells of what has passed since; waits a little for it.
    pub fn tell(&mut self, ear: &mut dyn Ear) -> Result<(), SteerError> {
        match &mut self.eyes {
            Eyes::Kernel(kernel) => kernel.tell(ear),
            Eyes::Packets(packets) => packets.tell(ear),
        }
    }
}
