//! A netlink socket into the namespace in which it was opened: one question, one answer.

use crate::error::BedError;
use netlink_packet_core::{
    DecodeError, ErrorMessage, NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE,
    NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::io;
use std::sync::Mutex;
use unbloat_netlink::attribute;

/// `NLMSGERR_ATTR_MSG`.
const MESSAGE: u16 = 1;
/// The header of the message that was refused, which stands in front of what the kernel says of it.
const HEADER: usize = 16;

/// What to do when there is already such a thing.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mode {
    /// Change what is there.
    Change,
    /// Refuse.
    Create,
    Replace,
}

/// What the kernel refused, in its own words where it has any.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) source: io::Error,
    pub(crate) detail: Option<String>,
}

impl Refusal {
    /// As it is told to whoever wanted it done.
    pub(crate) fn into_error(self, host: &str, doing: String) -> BedError {
        BedError::Netlink {
            host: host.to_owned(),
            doing,
            source: self.source,
            detail: self.detail,
        }
    }
}

/// A message of the kernel, of which little is read: a newer one may say what the library cannot.
#[derive(Debug)]
pub(crate) struct Answer(pub(crate) Vec<u8>);

#[derive(Debug)]
pub(crate) struct Netlink {
    socket: Mutex<Socket>,
}

impl Netlink {
    /// Into the calling thread's namespace.
    pub(crate) fn open() -> io::Result<Netlink> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        // Old kernels have neither, and then say less.
        let _ = socket.set_ext_ack(true).and(socket.set_cap_ack(true));
        Ok(Netlink {
            socket: Mutex::new(socket),
        })
    }

    /// Tells the kernel to do something.
    pub(crate) fn tell(&self, message: RouteNetlinkMessage, mode: Mode) -> Result<(), Refusal> {
        let flags = match mode {
            Mode::Change => 0,
            Mode::Create => NLM_F_CREATE | NLM_F_EXCL,
            Mode::Replace => NLM_F_CREATE | NLM_F_REPLACE,
        };
        self.exchange(message, NLM_F_REQUEST | NLM_F_ACK | flags)?;
        Ok(())
    }

    /// Asks for one thing.
    pub(crate) fn ask(&self, message: RouteNetlinkMessage) -> Result<Vec<Answer>, Refusal> {
        self.exchange(message, NLM_F_REQUEST | NLM_F_ACK)
    }

    /// Asks for all of a kind.
    pub(crate) fn list(&self, message: RouteNetlinkMessage) -> Result<Vec<Answer>, Refusal> {
        self.exchange(message, NLM_F_REQUEST | NLM_F_DUMP)
    }

    fn exchange(&self, message: RouteNetlinkMessage, flags: u16) -> Result<Vec<Answer>, Refusal> {
        let mut request = NetlinkMessage::from(message);
        request.header.flags = flags;
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        let socket = self.socket.lock().unwrap_or_else(|e| e.into_inner());
        socket.send(&bytes, 0)?;
        let mut answers = Vec::new();
        loop {
            let (reply, _) = socket.recv_from_full()?;
            if take(&reply, &mut answers)? {
                return Ok(answers);
            }
        }
    }
}

/// Reads the messages of one datagram; whether the answer ends with it.
fn take(mut reply: &[u8], answers: &mut Vec<Answer>) -> Result<bool, Refusal> {
    while !reply.is_empty() {
        let message = NetlinkMessage::<Answer>::deserialize(reply);
        let message = message.map_err(io::Error::other)?;
        match message.payload {
            NetlinkPayload::InnerMessage(inner) => answers.push(inner),
            NetlinkPayload::Done(_) => return Ok(true),
            NetlinkPayload::Error(error) if error.code.is_some() => return Err(error.into()),
            NetlinkPayload::Error(_) => return Ok(true),
            _ => {}
        }
        let length = (message.header.length as usize).next_multiple_of(4);
        reply = reply.get(length.max(HEADER)..).unwrap_or_default();
    }
    Ok(false)
}

impl NetlinkDeserializable for Answer {
    type Error = DecodeError;

    fn deserialize(_: &NetlinkHeader, payload: &[u8]) -> Result<Answer, DecodeError> {
        Ok(Answer(payload.to_vec()))
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

impl From<io::Error> for Refusal {
    fn from(source: io::Error) -> Refusal {
        Refusal {
            source,
            detail: None,
        }
    }
}

impl From<ErrorMessage> for Refusal {
    fn from(error: ErrorMessage) -> Refusal {
        let said = error.header.get(HEADER..);
        let said = said.and_then(|attributes| attribute(attributes, MESSAGE));
        let detail = said.map(|text| {
            let text = String::from_utf8_lossy(text);
            text.trim_end_matches('\0').to_owned()
        });
        Refusal {
            source: error.to_io(),
            detail,
        }
    }
}
