//! Echo requests (ICMP), for when nothing else says how long packets wait.

use crate::error::SteerError;
use rustix::net::{SendFlags, sendto};
use socket2::Socket;
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use unbloat_os::icmp::{Echo, PAYLOAD};
use unbloat_units::Time;

const ECHO: Echo = Echo::raw(false);
/// Tells our probes from those of others.
const IDENTIFIER: u16 = 0x5542;

/// An answer, by the number of its probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub number: u16,
    pub at: Time,
}

/// Sends probes to reflectors in turns. A thread waits for answers, so that their times are right.
pub(crate) struct Pinger {
    socket: Arc<Socket>,
    reflectors: Vec<Ipv4Addr>,
    replies: Receiver<Reply>,
}

impl Pinger {
    pub(crate) fn open(
        reflectors: Vec<Ipv4Addr>,
        clock: fn() -> Time,
    ) -> Result<Pinger, SteerError> {
        let socket = Arc::new(ECHO.open().map_err(SteerError::Probe)?);
        let (sender, replies) = channel();
        let listening = Arc::clone(&socket);
        // It ends with the process: it holds nothing but its socket.
        thread::spawn(move || listen(&listening, clock, &sender));
        Ok(Pinger {
            socket,
            reflectors,
            replies,
        })
    }

    pub(crate) fn send(&self, number: u32) -> Result<(), SteerError> {
        let Some(reflector) = self
            .reflectors
            .get(number as usize % self.reflectors.len().max(1))
        else {
            return Ok(());
        };
        let to = SocketAddrV4::new(*reflector, 0);
        let request = ECHO.request(IDENTIFIER, number as u16, &[0; PAYLOAD]);
        // A reflector that cannot be reached now is silent, which is told by itself.
        let _ = sendto(&*self.socket, &request, SendFlags::DONTWAIT, &to);
        Ok(())
    }

    pub(crate) fn replies(&self) -> impl Iterator<Item = Reply> + '_ {
        self.replies.try_iter()
    }
}

fn listen(mut socket: &Socket, clock: fn() -> Time, sender: &Sender<Reply>) {
    let mut buffer = [0; 2_048];
    while let Ok(len) = socket.read(&mut buffer) {
        let Some(number) = reply(&buffer[..len]) else {
            continue;
        };
        if sender
            .send(Reply {
                number,
                at: clock(),
            })
            .is_err()
        {
            return;
        }
    }
}

/// The number that an IP packet with an echo reply of ours carries.
pub(crate) fn reply(packet: &[u8]) -> Option<u16> {
    let reply = ECHO.reply(packet)?;
    (reply.identifier == IDENTIFIER).then_some(reply.sequence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_to_our_request_is_known_and_nothing_else_is() {
        let request = ECHO.request(IDENTIFIER, 77, &[0; PAYLOAD]);
        let mut packet = vec![0x45; 20];
        packet.extend(request);
        assert_eq!(reply(&packet), None, "a request");
        packet[20] = 0;
        assert_eq!(reply(&packet), Some(77));
        packet[24] ^= 1;
        assert_eq!(reply(&packet), None, "another program's");
        for cut in 0..28 {
            assert_eq!(reply(&packet[..cut]), None);
        }
    }
}
