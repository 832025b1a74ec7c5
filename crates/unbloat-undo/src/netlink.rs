//! Questions to the kernel about links and queue disciplines, in the namespace in which the socket was opened.

use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::io;
use unbloat_bed::{Attributes, attribute};

pub(crate) const NEW_DISCIPLINE: u16 = 36;
pub(crate) const DELETE_DISCIPLINE: u16 = 37;
pub(crate) const GET_DISCIPLINE: u16 = 38;
pub(crate) const DELETE_FILTER: u16 = 45;
const DELETE_LINK: u16 = 17;
const GET_LINK: u16 = 18;

const HEADER: usize = 16;
/// `struct ifinfomsg`.
const LINK: usize = 16;
const IFLA_IFNAME: u16 = 3;
const REQUEST: u16 = 1;
const ACK: u16 = 4;
const DUMP: u16 = 0x300;
/// `NLM_F_CREATE | NLM_F_REPLACE`.
const PUT: u16 = 0x500;
const ERROR: u16 = 2;
const DONE: u16 = 3;

#[derive(Debug)]
pub(crate) struct Netlink(Socket);

impl Netlink {
    pub(crate) fn open() -> io::Result<Netlink> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Netlink(socket))
    }

    pub(crate) fn list(&self, kind: u16, body: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.exchange(kind, REQUEST | DUMP, body)
    }

    pub(crate) fn tell(&self, kind: u16, body: &[u8]) -> io::Result<()> {
        self.exchange(kind, REQUEST | ACK, body).map(drop)
    }

    pub(crate) fn put(&self, kind: u16, body: &[u8]) -> io::Result<()> {
        self.exchange(kind, REQUEST | ACK | PUT, body).map(drop)
    }

    /// The index of the link of that name, if there is one.
    pub(crate) fn index(&self, name: &str) -> io::Result<Option<u32>> {
        let asked = Attributes::new().text(IFLA_IFNAME, name).to_bytes();
        let body = [vec![0; LINK], asked].concat();
        none_if_absent(self.link(&body)).map(|found| found.map(|(index, _)| index))
    }

    /// The name of the link of that index, if there is one.
    pub(crate) fn name(&self, index: u32) -> io::Result<Option<String>> {
        none_if_absent(self.link(&by_index(index))).map(|found| found.map(|(_, name)| name))
    }

    pub(crate) fn delete_link(&self, index: u32) -> io::Result<()> {
        self.tell(DELETE_LINK, &by_index(index))
    }

    fn link(&self, body: &[u8]) -> io::Result<(u32, String)> {
        let answers = self.exchange(GET_LINK, REQUEST | ACK, body)?;
        let read = |answer: &Vec<u8>| {
            let name = attribute(answer.get(LINK..)?, IFLA_IFNAME)?;
            Some((u32_at(answer, 4)?, text(name)))
        };
        let found = answers.iter().find_map(read);
        found.ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn exchange(&self, kind: u16, flags: u16, body: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        let mut message = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
        message.extend(kind.to_ne_bytes());
        message.extend(flags.to_ne_bytes());
        message.extend([0; 8]);
        message.extend(body);
        self.0.send(&message, 0)?;
        let mut answers = Vec::new();
        loop {
            let (reply, _) = self.0.recv_from_full()?;
            if take(&reply, &mut answers)? {
                return Ok(answers);
            }
        }
    }
}

fn by_index(index: u32) -> Vec<u8> {
    let mut body = vec![0; LINK];
    body[4..8].copy_from_slice(&index.to_ne_bytes());
    body
}

fn none_if_absent<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(None),
        // A name that no device can have.
        Err(error) if error.raw_os_error() == Some(libc::ERANGE) => Ok(None),
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(None),
        found => found.map(Some),
    }
}

/// Reads the messages of one datagram; whether the answer ends with it.
fn take(mut reply: &[u8], answers: &mut Vec<Vec<u8>>) -> io::Result<bool> {
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
                    code => Err(io::Error::from_raw_os_error(-code)),
                };
            }
            _ => answers.push(body.to_vec()),
        }
        reply = reply.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

/// Text in an attribute, without the zero at its end.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .trim_end_matches('\0')
        .to_owned()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
