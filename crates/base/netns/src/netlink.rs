//! A netlink socket into the namespace in which it was opened: one question, one answer.

use crate::error::BedError;
use netlink_packet_core::NetlinkSerializable;
use netlink_packet_route::RouteNetlinkMessage;
use std::io;
use std::sync::Mutex;
use unbloat_os::netlink::{Ask, Family, Refusal};

/// What to do when there is already such a thing.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mode {
    /// Change what is there.
    Change,
    /// Refuse.
    Create,
    Replace,
}

/// The error that the caller reports.
pub(crate) fn refused(refusal: Refusal, host: &str, doing: String) -> BedError {
    BedError::Netlink {
        host: host.to_owned(),
        doing,
        source: refusal.source,
        detail: refusal.detail,
    }
}

/// A message of the kernel, of which little is read: a newer one may say what the library cannot.
#[derive(Debug)]
pub(crate) struct Answer(pub(crate) Vec<u8>);

#[derive(Debug)]
pub(crate) struct Netlink {
    socket: Mutex<unbloat_os::netlink::Netlink>,
}

impl Netlink {
    /// Into the calling thread's namespace.
    pub(crate) fn open() -> io::Result<Netlink> {
        let socket = unbloat_os::netlink::Netlink::open(Family::Route)?;
        Ok(Netlink {
            socket: Mutex::new(socket),
        })
    }

    /// Tells the kernel to do something.
    pub(crate) fn tell(&self, message: RouteNetlinkMessage, mode: Mode) -> Result<(), Refusal> {
        let ask = match mode {
            Mode::Change => Ask::One,
            Mode::Create => Ask::Create,
            Mode::Replace => Ask::Replace,
        };
        self.exchange(message, ask)?;
        Ok(())
    }

    /// Asks for one thing.
    pub(crate) fn ask(&self, message: RouteNetlinkMessage) -> Result<Vec<Answer>, Refusal> {
        self.exchange(message, Ask::One)
    }

    /// Asks for all of a kind.
    pub(crate) fn list(&self, message: RouteNetlinkMessage) -> Result<Vec<Answer>, Refusal> {
        self.exchange(message, Ask::All)
    }

    fn exchange(&self, message: RouteNetlinkMessage, ask: Ask) -> Result<Vec<Answer>, Refusal> {
        let mut body = vec![0; NetlinkSerializable::buffer_len(&message)];
        message.serialize(&mut body);
        let mut answers = Vec::new();
        let socket = self.socket.lock().unwrap_or_else(|e| e.into_inner());
        socket.exchange(message.message_type(), ask, &body, |answer| {
            answers.push(Answer(answer.to_vec()));
        })?;
        Ok(answers)
    }
}

impl Answer {
    /// The word at this place of the message's fixed part.
    pub(crate) fn word(&self, at: usize) -> Option<u32> {
        let bytes = self.0.get(at..at + 4)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    }

    /// What follows the fixed part.
    pub(crate) fn attributes(&self, fixed: usize) -> &[u8] {
        self.0.get(fixed..).unwrap_or_default()
    }
}
