//! Questions to the kernel about links and queue disciplines, in the namespace in which the socket was opened.

use rustix::io::Errno;
use std::io;
use unbloat_os::netlink::{Attributes, Family, attribute, text, u32_at};

pub(crate) const NEW_DISCIPLINE: u16 = 36;
pub(crate) const DELETE_DISCIPLINE: u16 = 37;
pub(crate) const GET_DISCIPLINE: u16 = 38;
pub(crate) const NEW_CLASS: u16 = 40;
pub(crate) const GET_CLASS: u16 = 42;
pub(crate) const DELETE_FILTER: u16 = 45;
const DELETE_LINK: u16 = 17;
const GET_LINK: u16 = 18;

/// `struct ifinfomsg`.
const LINK: usize = 16;
const IFLA_IFNAME: u16 = 3;
#[derive(Debug)]
pub(crate) struct Netlink(unbloat_os::netlink::Netlink);

impl Netlink {
    pub(crate) fn open() -> io::Result<Netlink> {
        unbloat_os::netlink::Netlink::open(Family::Route).map(Netlink)
    }

    pub(crate) fn list(&self, kind: u16, body: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        let mut answers = Vec::new();
        self.0
            .list(kind, body, |answer| answers.push(answer.to_vec()))?;
        Ok(answers)
    }

    pub(crate) fn tell(&self, kind: u16, body: &[u8]) -> io::Result<()> {
        self.0.tell(kind, body)
    }

    pub(crate) fn put(&self, kind: u16, body: &[u8]) -> io::Result<()> {
        self.0.put(kind, body)
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
        let mut found = None;
        self.0.get(GET_LINK, body, |answer| {
            found = found.take().or_else(|| index_and_name(answer));
        })?;
        found.ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

fn index_and_name(answer: &[u8]) -> Option<(u32, String)> {
    let name = attribute(answer.get(LINK..)?, IFLA_IFNAME)?;
    Some((u32_at(answer, 4)?, text(name)))
}

fn by_index(index: u32) -> Vec<u8> {
    let mut body = vec![0; LINK];
    body[4..8].copy_from_slice(&index.to_ne_bytes());
    body
}

fn none_if_absent<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    let code = found.as_ref().err().and_then(Errno::from_io_error);
    match code {
        // The last two are of a name that no device can have.
        Some(Errno::NODEV | Errno::RANGE | Errno::INVAL) => Ok(None),
        _ => found.map(Some),
    }
}
