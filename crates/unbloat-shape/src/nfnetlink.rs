//! A netlink socket to netfilter, and its messages.

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, netlink, recv, send,
    socket_with, sockopt,
};
use std::io;
use unbloat_netlink::Attributes;

const REQUEST: u16 = 1;
const ACK: u16 = 4;
pub(crate) const CREATE: u16 = 0x400;
pub(crate) const EXCLUSIVE: u16 = 0x200;
pub(crate) const APPEND: u16 = 0x800;
const ERROR: u16 = 2;
/// Of a netlink message, and with netfilter's own behind it.
const HEADER: usize = 16;
const HEADERS: usize = 20;

#[derive(Debug)]
pub(crate) struct Nfnetlink {
    socket: OwnedFd,
    number: u32,
}

impl Nfnetlink {
    pub(crate) fn open() -> io::Result<Nfnetlink> {
        let socket = socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            Some(netlink::NETFILTER),
        )?;
        bind(&socket, &netlink::SocketAddrNetlink::new(0, 0))?;
        Ok(Nfnetlink { socket, number: 0 })
    }

    pub(crate) fn descriptor(&self) -> &OwnedFd {
        &self.socket
    }

    /// Has room for so many bytes of messages; beyond, the kernel lets packets pass unshaped.
    pub(crate) fn make_room(&self, bytes: usize) -> io::Result<()> {
        Ok(sockopt::set_socket_recv_buffer_size_force(
            &self.socket,
            bytes,
        )?)
    }

    /// A message with a number of its own.
    pub(crate) fn message(
        &mut self,
        kind: u16,
        flags: u16,
        family: u8,
        resource: u16,
        attributes: &[u8],
    ) -> Vec<u8> {
        self.number += 1;
        let mut bytes = Vec::with_capacity(HEADERS + attributes.len());
        message(
            &mut bytes,
            kind,
            flags | REQUEST,
            self.number,
            family,
            resource,
            attributes,
        );
        bytes
    }

    /// Sends messages of which one asks for an answer, and waits for that, or for the first fault.
    pub(crate) fn tell(&mut self, messages: &[Vec<u8>]) -> io::Result<()> {
        send(&self.socket, &messages.concat(), SendFlags::empty())?;
        let mut buffer = vec![0; 1 << 16];
        loop {
            let (len, _) = recv(&self.socket, &mut buffer[..], RecvFlags::empty())?;
            for (kind, _, body) in messages_of(&buffer[..len]) {
                if kind != ERROR {
                    continue;
                }
                let code = body.get(..4).map_or(0, |code| {
                    i32::from_ne_bytes([code[0], code[1], code[2], code[3]])
                });
                if code != 0 {
                    return Err(io::Error::from_raw_os_error(-code));
                }
                return Ok(());
            }
        }
    }

    /// One message that is to be answered.
    pub(crate) fn ask(
        &mut self,
        kind: u16,
        resource: u16,
        attributes: &Attributes,
    ) -> io::Result<()> {
        let message = self.message(kind, ACK, 0, resource, &attributes.to_bytes());
        self.tell(&[message])
    }

    pub(crate) fn send(&self, bytes: &[u8]) -> io::Result<()> {
        send(&self.socket, bytes, SendFlags::empty())?;
        Ok(())
    }

    /// What has come, without waiting for it.
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match recv(&self.socket, buffer, RecvFlags::DONTWAIT) {
            Ok((len, _)) => Ok(Some(len)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            // Messages were lost; packets behind them passed, or are told of later.
            Err(Errno::NOBUFS) => Ok(Some(0)),
            Err(error) => Err(error.into()),
        }
    }
}

/// Asks for an answer to a message that was made without.
pub(crate) fn with_answer(mut message: Vec<u8>) -> Vec<u8> {
    message[6] |= ACK as u8;
    message
}

/// Appends a message.
pub(crate) fn message(
    bytes: &mut Vec<u8>,
    kind: u16,
    flags: u16,
    number: u32,
    family: u8,
    resource: u16,
    attributes: &[u8],
) {
    let len = (HEADERS + attributes.len()) as u32;
    bytes.extend(len.to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend((flags | REQUEST).to_ne_bytes());
    bytes.extend(number.to_ne_bytes());
    bytes.extend(0_u32.to_ne_bytes());
    bytes.extend([family, 0]);
    bytes.extend(resource.to_be_bytes());
    bytes.extend(attributes);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

/// Kind, number and what is behind the header of each message; ends at a damaged one.
pub(crate) fn messages_of(mut bytes: &[u8]) -> impl Iterator<Item = (u16, u32, &[u8])> {
    std::iter::from_fn(move || {
        let header = bytes.get(..HEADER)?;
        let word = |at: usize| {
            u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let (len, kind, number) = (word(0) as usize, word(4) as u16, word(8));
        let body = bytes.get(HEADER..len)?;
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, number, body))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written_and_damaged_ones_end_it() {
        let mut bytes = Vec::new();
        message(&mut bytes, 0x300, ACK, 7, 2, 5, &[1, 2, 3]);
        message(&mut bytes, 0x301, 0, 8, 2, 5, &[]);
        let read: Vec<_> = messages_of(&bytes)
            .map(|(kind, number, body)| (kind, number, body.len()))
            .collect();
        assert_eq!(read, [(0x300, 7, 7), (0x301, 8, 4)]);
        for cut in 0..bytes.len() {
            assert!(messages_of(&bytes[..cut]).count() < 2, "{cut}");
        }
        assert_eq!(messages_of(&[0; 64]).count(), 0);
    }
}
