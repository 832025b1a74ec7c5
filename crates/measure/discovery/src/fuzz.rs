//! For the fuzz target: datagrams of one neighbour.

use crate::Server;
use crate::answers::{Answers, Link, PORT};
use std::net::{Ipv4Addr, SocketAddrV4};

/// What is found after these datagrams, and the next question.
pub fn hear<'d>(datagrams: impl Iterator<Item = &'d [u8]>) -> (Vec<Server>, Vec<u8>) {
    let link = Link {
        address: Ipv4Addr::new(10, 0, 0, 1),
        mask: Ipv4Addr::new(255, 0, 0, 0),
    };
    let from = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 2), PORT);
    let mut answers = Answers::default();
    for datagram in datagrams {
        answers.take(datagram, from, link);
    }
    (answers.servers(), answers.question())
}
