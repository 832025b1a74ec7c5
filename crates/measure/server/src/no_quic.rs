//! Stands in for `quic` in a build without HTTP/3: there are no connections.

use crate::peer::QuicAccount;

pub enum Connection {}

pub fn account(connection: &Connection) -> QuicAccount {
    match *connection {}
}
