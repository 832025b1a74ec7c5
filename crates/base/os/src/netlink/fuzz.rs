//! For the fuzz target: an answer that came without a socket.

use std::io;

/// Reads the messages of one datagram; whether the answer ends with it.
pub fn read(reply: &[u8], each: &mut impl FnMut(&[u8])) -> io::Result<bool> {
    Ok(super::message::read(reply, each)?)
}
