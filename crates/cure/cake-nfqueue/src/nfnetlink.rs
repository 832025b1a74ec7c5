//! A netlink socket to netfilter, and its messages.

use rustix::io::Errno;
use rustix::net::sockopt;
use std::io;
use std::os::fd::AsFd;
use unbloat_os::batch::Batch;
use unbloat_os::netlink::{Attributes, Family, Netlink, append};

const ACK: u16 = 4;
pub(crate) const CREATE: u16 = 0x400;
pub(crate) const EXCLUSIVE: u16 = 0x200;
pub(crate) const APPEND: u16 = 0x800;

#[derive(Debug)]
pub(crate) struct Nfnetlink {
    socket: Netlink,
    number: u32,
}

impl Nfnetlink {
    pub(crate) fn open() -> io::Result<Nfnetlink> {
        let socket = Netlink::open(Family::Netfilter)?;
        Ok(Nfnetlink { socket, number: 0 })
    }

    pub(crate) fn socket(&self) -> &Netlink {
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
        let mut bytes = Vec::new();
        let header = header(family, resource);
        append(&mut bytes, kind, flags, self.number, &[&header, attributes]);
        bytes
    }

    /// Sends messages of which one asks for an answer, and waits for that, or for the first fault.
    pub(crate) fn tell(&self, messages: &[Vec<u8>]) -> io::Result<()> {
        self.socket.send(&messages.concat())?;
        Ok(self.socket.answer(|_| {})?)
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

    /// Takes what has come, without waiting for it, and tells how many datagrams that were.
    pub(crate) fn receive<const MANY: usize, const BYTES: usize>(
        &self,
        batch: &mut Batch<MANY, BYTES>,
    ) -> io::Result<usize> {
        loop {
            match batch.receive(self.socket.as_fd()) {
                // The receive buffer was full. The kernel let these packets pass (fail-open).
                Err(error) if Errno::from_io_error(&error) == Some(Errno::NOBUFS) => {}
                received => return received,
            }
        }
    }
}

/// Asks for an answer to a message that was made without.
pub(crate) fn with_answer(mut message: Vec<u8>) -> Vec<u8> {
    message[6] |= ACK as u8;
    message
}

/// `struct nfgenmsg`, behind netlink's own header.
pub(crate) fn header(family: u8, resource: u16) -> [u8; 4] {
    let [high, low] = resource.to_be_bytes();
    [family, 0, high, low]
}
