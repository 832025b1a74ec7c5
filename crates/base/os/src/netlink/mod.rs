//! Raw netlink: a socket, and the messages and attributes that the netlink crates do not model.

mod attributes;
#[doc(hidden)]
pub mod fuzz;
mod message;
pub mod numbers;
mod socket;

pub use attributes::{Attributes, attribute, attributes};
pub use message::{Ask, Refusal, append, messages};
pub use socket::{Family, Netlink};

/// Text in an attribute, without the zero at its end.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .trim_end_matches('\0')
        .to_owned()
}

#[inline]
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}
