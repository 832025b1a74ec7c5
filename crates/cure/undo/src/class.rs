//! Classes of an htb as they are, to be put back: their rates, not their place in the tree.

use crate::discipline::{FIXED, KIND, OPTIONS, fixed, is_absent};
use crate::netlink::{GET_CLASS, NEW_CLASS, Netlink};
use serde::{Deserialize, Serialize};
use std::io;
use unbloat_os::netlink::{Attributes, attribute, text, u32_at};

/// The one discipline whose classes the kernel tells as it takes them back.
const HTB: &str = "htb";

/// A class with the kernel's own words for its rates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Class {
    pub parent: u32,
    pub handle: u32,
    /// `TCA_OPTIONS`.
    pub(crate) options: Vec<u8>,
}

/// All of htbs on a device.
pub(crate) fn on(netlink: &Netlink, index: u32) -> io::Result<Vec<Class>> {
    let listed = netlink.list(GET_CLASS, &fixed(index, 0, 0))?;
    let here = listed.iter().filter(|a| u32_at(a, 4) == Some(index));
    Ok(here.filter_map(|answer| read(answer)).collect())
}

/// Gives classes that are still there the rates that they had.
pub(crate) fn restore(netlink: &Netlink, index: u32, before: &[Class]) -> io::Result<()> {
    let now = on(netlink, index)?;
    let is_there = |class: &Class| now.iter().any(|other| other.handle == class.handle);
    for class in before {
        if !is_there(class) || now.contains(class) {
            continue;
        }
        match netlink.tell(NEW_CLASS, &told(index, class)) {
            Err(error) if is_absent(&error) => {}
            told => told?,
        }
    }
    Ok(())
}

pub(crate) fn told(index: u32, class: &Class) -> Vec<u8> {
    let mut body = fixed(index, class.parent, 0);
    body[8..12].copy_from_slice(&class.handle.to_ne_bytes());
    let attributes = Attributes::new()
        .text(KIND, HTB)
        .bytes(OPTIONS, &class.options);
    body.extend(attributes.to_bytes());
    body
}

pub(crate) fn read(answer: &[u8]) -> Option<Class> {
    let attributes = answer.get(FIXED..)?;
    let is_htb = text(attribute(attributes, KIND)?) == HTB;
    is_htb.then_some(())?;
    Some(Class {
        parent: u32_at(answer, 12)?,
        handle: u32_at(answer, 8)?,
        options: attribute(attributes, OPTIONS)?.to_vec(),
    })
}
