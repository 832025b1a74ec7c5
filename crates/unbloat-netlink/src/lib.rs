//! Netlink by its bytes: what is asked of the kernel, or told it, where libraries have no names for it.

mod attributes;
#[cfg(feature = "fuzz")]
pub mod fuzz;

pub use attributes::{Attributes, attribute};
pub use netlink_sys::protocols::{NETLINK_ROUTE, NETLINK_SOCK_DIAG};

use netlink_sys::{Socket, SocketAddr};
use std::io;

const HEADER: usize = 16;
const REQUEST: u16 = 1;
/// An acknowledgement ends the answer.
const ACK: u16 = 4;
/// `NLM_F_CREATE | NLM_F_REPLACE`.
const PUT: u16 = 0x500;
const DUMP: u16 = 0x300;
const ERROR: u16 = 2;
const DONE: u16 = 3;

/// A socket into the namespace in which it was opened.
#[derive(Debug)]
pub struct Netlink(Socket);

impl Netlink {
    pub fn open(protocol: isize) -> io::Result<Netlink> {
        let mut socket = Socket::new(protocol)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Netlink(socket))
    }

    /// Asks for all of a kind; `each` is given the messages without their headers.
    pub fn list(&self, kind: u16, body: &[u8], each: impl FnMut(&[u8])) -> io::Result<()> {
        self.ask(kind, REQUEST | DUMP, body, each)
    }

    /// Asks for one.
    pub fn get(&self, kind: u16, body: &[u8], each: impl FnMut(&[u8])) -> io::Result<()> {
        self.ask(kind, REQUEST | ACK, body, each)
    }

    /// Tells it to do something.
    pub fn tell(&self, kind: u16, body: &[u8]) -> io::Result<()> {
        self.ask(kind, REQUEST | ACK, body, |_| {})
    }

    /// The same, where it makes or replaces something.
    pub fn put(&self, kind: u16, body: &[u8]) -> io::Result<()> {
        self.ask(kind, REQUEST | ACK | PUT, body, |_| {})
    }

    fn ask(
        &self,
        kind: u16,
        flags: u16,
        body: &[u8],
        mut each: impl FnMut(&[u8]),
    ) -> io::Result<()> {
        self.0.send(&request(kind, flags, body), 0)?;
        loop {
            let (reply, _) = self.0.recv_from_full()?;
            if read(&reply, &mut each)? {
                return Ok(());
            }
        }
    }
}

/// A message as it is sent.
fn request(kind: u16, flags: u16, body: &[u8]) -> Vec<u8> {
    let mut message = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
    message.extend(kind.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);
    message
}

/// Reads the messages of one datagram; whether the answer ends with it.
fn read(mut reply: &[u8], each: &mut impl FnMut(&[u8])) -> io::Result<bool> {
    while let (Some(length), Some(kind)) = (u32_at(reply, 0), u16_at(reply, 4)) {
        let length = length as usize;
        let Some(body) = reply.get(HEADER..length) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        match kind {
            DONE => return Ok(true),
            ERROR => {
                return match u32_at(body, 0).unwrap_or(0) as i32 {
                    0 => Ok(true),
                    code => Err(io::Error::from_raw_os_error(code.saturating_neg())),
                };
            }
            _ => each(body),
        }
        reply = reply.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

/// Text in an attribute, without the zero at its end.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .trim_end_matches('\0')
        .to_owned()
}

pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend([0; 10]);
        bytes.extend(body);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn a_request_tells_its_own_length() {
        let message = request(40, REQUEST | ACK, b"body");
        assert_eq!(u32_at(&message, 0), Some(message.len() as u32));
        assert_eq!(
            [u16_at(&message, 4), u16_at(&message, 6)],
            [Some(40), Some(5)]
        );
    }

    #[test]
    fn messages_are_read_to_the_end_of_the_answer() {
        let mut seen = Vec::new();
        let mut each = |body: &[u8]| seen.push(body.to_vec());
        let two = [message(20, b"one"), message(20, b"two")].concat();
        assert!(!read(&two, &mut each).unwrap());
        assert!(read(&message(DONE, &[]), &mut each).unwrap());
        assert_eq!(seen, [b"one".to_vec(), b"two".to_vec()]);
        let denied = read(&message(ERROR, &(-libc::EPERM).to_ne_bytes()), &mut |_| {});
        assert_eq!(denied.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn a_message_that_is_cut_is_an_error() {
        let whole = message(20, b"whole");
        for length in HEADER..whole.len() - 3 {
            assert!(read(&whole[..length], &mut |_| {}).is_err(), "{length}");
        }
    }
}
