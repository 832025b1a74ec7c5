//! A socket into the namespace in which it was opened.

use super::message::{Ask, Refusal, append, read};
use crate::sockopt;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::net::{bind, connect, recv, send, socket_with};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The part of the kernel at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Links, addresses, routes, queue disciplines.
    Route,
    SockDiag,
    Netfilter,
}

#[derive(Debug)]
pub struct Netlink(OwnedFd);

impl Netlink {
    pub fn open(family: Family) -> io::Result<Netlink> {
        let protocol = match family {
            // Zero, of which rustix makes none.
            Family::Route => None,
            Family::SockDiag => Some(netlink::SOCK_DIAG),
            Family::Netfilter => Some(netlink::NETFILTER),
        };
        let kernel = SocketAddrNetlink::new(0, 0);
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?;
        bind(&socket, &kernel)?;
        connect(&socket, &kernel)?;
        // Old kernels have neither, and then say less of what they refuse.
        let _ = sockopt::set_netlink_errors(socket.as_fd());
        Ok(Netlink(socket))
    }

    /// Asks for all of a kind; `each` is given the messages without their headers.
    pub fn list(&self, kind: u16, body: &[u8], each: impl FnMut(&[u8])) -> io::Result<()> {
        Ok(self.exchange(kind, Ask::All, body, each)?)
    }

    /// Asks for one.
    pub fn get(&self, kind: u16, body: &[u8], each: impl FnMut(&[u8])) -> io::Result<()> {
        Ok(self.exchange(kind, Ask::One, body, each)?)
    }

    /// Tells it to do something.
    pub fn tell(&self, kind: u16, body: &[u8]) -> io::Result<()> {
        Ok(self.exchange(kind, Ask::One, body, |_| {})?)
    }

    /// The same, where it makes or replaces something.
    pub fn put(&self, kind: u16, body: &[u8]) -> io::Result<()> {
        Ok(self.exchange(kind, Ask::Replace, body, |_| {})?)
    }

    /// One request with its whole answer.
    pub fn exchange(
        &self,
        kind: u16,
        ask: Ask,
        body: &[u8],
        each: impl FnMut(&[u8]),
    ) -> Result<(), Refusal> {
        let mut request = Vec::new();
        append(&mut request, kind, ask.flags(), 0, &[body]);
        self.send(&request)?;
        self.answer(each)
    }

    /// Sends messages as they are.
    pub fn send(&self, messages: &[u8]) -> io::Result<()> {
        send(&self.0, messages, SendFlags::empty())?;
        Ok(())
    }

    /// Waits for the whole answer to what was sent.
    pub fn answer(&self, mut each: impl FnMut(&[u8])) -> Result<(), Refusal> {
        while !read(&self.datagram()?, &mut each)? {}
        Ok(())
    }

    fn datagram(&self) -> io::Result<Vec<u8>> {
        let look = RecvFlags::PEEK | RecvFlags::TRUNC;
        let (_, length) = recv(&self.0, &mut [0][..], look)?;
        let mut bytes = vec![0; length];
        let (read, _) = recv(&self.0, &mut bytes[..], RecvFlags::empty())?;
        bytes.truncate(read);
        Ok(bytes)
    }
}

impl AsFd for Netlink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
