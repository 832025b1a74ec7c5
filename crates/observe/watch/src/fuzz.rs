//! For the fuzz target: answers of the kernel of any bytes.

use crate::flow::Protocol;
use crate::{devices, sockets};

/// How many of the readers of answers made something of it.
pub fn answer(bytes: &[u8]) -> usize {
    let link = devices::parse_link(bytes).is_some();
    let queue = devices::parse_queue(bytes).is_some();
    let socket = sockets::parse(bytes, Protocol::TCP).is_some();
    usize::from(link) + usize::from(queue) + usize::from(socket)
}
