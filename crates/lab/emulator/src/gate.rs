//! A queue of the kernel's in front of a path whose rate is the path's own: it gives a packet out when the link can send one.

use crate::error::EmulatorError;
use std::io;

/// Holds packets back in front of a device.
pub trait Valve: Send {
    /// Lets one packet go: the next one that waits, before this returns, or else the next one that comes.
    fn open(&mut self) -> io::Result<()>;
}

/// A port whose packets wait for the link. Its valve is open at first, for one packet.
pub struct Gate {
    /// By its place among the ports.
    pub port: usize,
    pub valve: Box<dyn Valve>,
}

/// A gate, and whether it still works.
pub(crate) struct Guarded {
    gate: Gate,
    fault: Option<io::Error>,
}

impl Guarded {
    pub(crate) fn new(gate: Gate) -> Guarded {
        Guarded { gate, fault: None }
    }

    pub(crate) fn port(&self) -> usize {
        self.gate.port
    }

    /// Whether a packet may come now.
    pub(crate) fn open(&mut self) -> bool {
        let opened = self.gate.valve.open();
        let is_open = opened.is_ok();
        self.fault = self.fault.take().or(opened.err());
        is_open
    }

    /// A gate that has failed keeps all packets for ever.
    pub(crate) fn check(&mut self) -> Result<(), EmulatorError> {
        self.fault.take().map_or(Ok(()), |source| {
            let port = self.gate.port;
            Err(EmulatorError::Gate { port, source })
        })
    }
}
