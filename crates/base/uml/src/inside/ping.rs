//! Pings from the sender to the receiver.

use super::bed::{Bed, RECEIVER};
use super::fault::{Doing, Fault};
use super::socket::{self, now_ns};
use crate::outcome::Ping;
use socket2::Socket;
use std::collections::BTreeMap;
use std::io;
use unbloat_os::icmp::{Echo, PAYLOAD};

const ECHO: Echo = Echo::raw(false);

pub(crate) struct Pinger {
    socket: Socket,
    begin_ns: u64,
    next: u16,
    sent: BTreeMap<u16, u64>,
    answered: Vec<Ping>,
}

impl Pinger {
    pub(crate) fn new(bed: &Bed, begin_ns: u64) -> Result<Pinger, Fault> {
        bed.sender.enter()?;
        Ok(Pinger {
            socket: open().doing(|| "opening an ICMP socket".to_owned())?,
            begin_ns,
            next: 0,
            sent: BTreeMap::new(),
            answered: Vec::new(),
        })
    }

    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    pub(crate) fn send(&mut self) -> Result<(), Fault> {
        let request = ECHO.request(0, self.next, &[0; PAYLOAD]);
        self.sent.insert(self.next, now_ns());
        self.next = self.next.wrapping_add(1);
        self.socket.send(&request).doing(|| "pinging".to_owned())?;
        Ok(())
    }

    pub(crate) fn receive(&mut self) -> Result<(), Fault> {
        let (sent, answered, begin_ns) = (&mut self.sent, &mut self.answered, self.begin_ns);
        socket::receive_all(&self.socket, |at_ns, ip| {
            let number = ECHO.reply(ip).map(|reply| reply.sequence);
            if let Some(sent_ns) = number.and_then(|number| sent.remove(&number)) {
                answered.push(Ping {
                    at_ns: sent_ns - begin_ns,
                    rtt_ns: at_ns - sent_ns,
                });
            }
        })
        .doing(|| "reading pings".to_owned())
    }

    pub(crate) fn finish(self) -> Vec<Ping> {
        self.answered
    }
}

/// Sends and receives ICMP to and from the receiver.
fn open() -> io::Result<Socket> {
    let socket = ECHO.open()?;
    socket.set_nonblocking(true)?;
    socket.connect(&socket::address(RECEIVER, 0))?;
    socket::stamp(&socket)?;
    Ok(socket)
}
