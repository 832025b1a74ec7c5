//! Queue disciplines as they are, to be put back.
//!
//! The kernel's own words are kept: what it tells of a discipline's options is what it is told to have them. That
//! holds for the disciplines of [`KNOWN`]; trees of classes and filters are not saved, and refused.

use crate::error::UndoError;
use crate::netlink::{DELETE_DISCIPLINE, GET_DISCIPLINE, NEW_DISCIPLINE, Netlink};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::io;
use unbloat_os::netlink::{Attributes, attribute};
use unbloat_os::netlink::{text, u32_at};

/// `struct tcmsg`.
pub(crate) const FIXED: usize = 20;
pub(crate) const KIND: u16 = 1;
pub(crate) const OPTIONS: u16 = 2;
const STAB: u16 = 8;
pub(crate) const ROOT: u32 = 0xffff_ffff;
pub(crate) const INGRESS: u32 = 0xffff_fff1;

/// Whose options, as the kernel tells them, it takes back. Not netem, whose tables it does not tell.
const KNOWN: &[&str] = &[
    "bfifo",
    "cake",
    "codel",
    "fq",
    "fq_codel",
    "fq_pie",
    "mq",
    "noqueue",
    "pfifo",
    "pfifo_fast",
    "pie",
    "sfq",
    "tbf",
];

/// A queue discipline that somebody asked for; those that the kernel gives by itself have no handle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discipline {
    pub kind: String,
    pub parent: u32,
    pub handle: u32,
    /// `TCA_OPTIONS`.
    pub(crate) options: Vec<u8>,
    /// Whether it has a size table, of which the kernel tells only half.
    #[serde(default)]
    pub(crate) has_size_table: bool,
}

impl Discipline {
    pub fn is_root(&self) -> bool {
        self.parent == ROOT
    }
}

/// All on a device that have a handle.
pub(crate) fn on(netlink: &Netlink, index: u32) -> io::Result<Vec<Discipline>> {
    let listed = netlink.list(GET_DISCIPLINE, &fixed(index, 0, 0))?;
    let here = listed.iter().filter(|a| u32_at(a, 4) == Some(index));
    Ok(here
        .filter_map(|answer| read(answer))
        .filter(|discipline| discipline.handle != 0)
        .collect())
}

/// Those at the root and below, if each can be put back.
pub(crate) fn outgoing(
    netlink: &Netlink,
    device: &str,
    index: u32,
) -> Result<Vec<Discipline>, UndoError> {
    let all = on(netlink, index).map_err(UndoError::Kernel)?;
    let all: Vec<_> = all.into_iter().filter(|d| d.parent != INGRESS).collect();
    let lost = |d: &&Discipline| !KNOWN.contains(&d.kind.as_str()) || d.has_size_table;
    match all.iter().find(lost) {
        None => Ok(all),
        Some(found) => Err(UndoError::CannotSave {
            device: device.to_owned(),
            kind: found.kind.clone(),
            place: "root",
        }),
    }
}

/// Those below classes, as far as they can be put back.
pub(crate) fn leaves(netlink: &Netlink, index: u32) -> io::Result<Vec<Discipline>> {
    let all = on(netlink, index)?.into_iter();
    let is_leaf = |d: &Discipline| d.parent != ROOT && d.parent != INGRESS;
    Ok(all
        .filter(|d| is_leaf(d) && KNOWN.contains(&d.kind.as_str()) && !d.has_size_table)
        .collect())
}

/// Gives those that are still there the options that they had.
pub(crate) fn change_back(netlink: &Netlink, index: u32, before: &[Discipline]) -> io::Result<()> {
    let now = leaves(netlink, index)?;
    let place = |d: &Discipline| (d.kind.clone(), d.parent, d.handle);
    for discipline in before {
        let is_there = now.iter().any(|other| place(other) == place(discipline));
        if is_there && !now.contains(discipline) {
            netlink.tell(NEW_DISCIPLINE, &told(index, discipline))?;
        }
    }
    Ok(())
}

/// The kind of what is at the device's entry.
pub(crate) fn incoming(netlink: &Netlink, index: u32) -> io::Result<Option<String>> {
    let all = on(netlink, index)?;
    let found = all.into_iter().find(|d| d.parent == INGRESS);
    Ok(found.map(|d| d.kind))
}

/// Makes root and below as they were, where they are not.
pub(crate) fn restore(netlink: &Netlink, index: u32, before: &[Discipline]) -> io::Result<()> {
    let now = || -> io::Result<Vec<Discipline>> {
        let all = on(netlink, index)?.into_iter();
        Ok(all.filter(|d| d.parent != INGRESS).collect())
    };
    if now()? == before {
        return Ok(());
    }
    delete(netlink, index, ROOT)?;
    let (roots, inner): (Vec<&Discipline>, Vec<_>) = before.iter().partition(|d| d.parent == ROOT);
    for discipline in roots.into_iter().chain(inner) {
        netlink.put(NEW_DISCIPLINE, &told(index, discipline))?;
    }
    match now()? == before {
        true => Ok(()),
        false => Err(io::Error::other(
            "the queue disciplines differ from those before; check with tc qdisc show",
        )),
    }
}

/// Takes the discipline at this place away, if there is one.
pub(crate) fn delete(netlink: &Netlink, index: u32, parent: u32) -> io::Result<()> {
    match netlink.tell(DELETE_DISCIPLINE, &fixed(index, parent, 0)) {
        Err(error) if is_absent(&error) => Ok(()),
        told => told,
    }
}

/// What the kernel answers where there is nothing to delete.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::NOENT | Errno::INVAL | Errno::NODEV)
    )
}

pub(crate) fn fixed(index: u32, parent: u32, info: u32) -> Vec<u8> {
    let words = [0, index, 0, parent, info];
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

pub(crate) fn told(index: u32, discipline: &Discipline) -> Vec<u8> {
    let mut body = fixed(index, discipline.parent, 0);
    body[8..12].copy_from_slice(&discipline.handle.to_ne_bytes());
    let mut attributes = Attributes::new().text(KIND, &discipline.kind);
    if !discipline.options.is_empty() {
        attributes = attributes.bytes(OPTIONS, &discipline.options);
    }
    body.extend(attributes.to_bytes());
    body
}

pub(crate) fn read(answer: &[u8]) -> Option<Discipline> {
    let attributes = answer.get(FIXED..)?;
    Some(Discipline {
        kind: text(attribute(attributes, KIND)?),
        parent: u32_at(answer, 12)?,
        handle: u32_at(answer, 8)?,
        options: attribute(attributes, OPTIONS).unwrap_or_default().to_vec(),
        has_size_table: attribute(attributes, STAB).is_some(),
    })
}
