//! Echo requests (ICMP), for when nothing else says how long packets wait.

use crate::error::SteerError;
use rustix::net::{SendFlags, sendto};
use socket2::Socket;
use std::hash::{BuildHasher, RandomState};
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use unbloat_os::icmp::{Echo, PAYLOAD};
use unbloat_units::Time;

const ECHO: Echo = Echo::raw(false);
/// An answer, by the number of its probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub number: u16,
    pub at: Time,
}

/// Answers that wait to be looked at: as many as there are probes under way.
const WAITING: usize = 256;

/// Sends probes to reflectors in turns. A thread waits for answers, so that their times are right.
pub(crate) struct Pinger {
    socket: Arc<Socket>,
    asked: Arc<Asked>,
    replies: Receiver<Reply>,
}

/// Whom each probe asks, and by what its answer is known. A raw socket is given the ICMP of the whole host, whoever sent it.
pub(crate) struct Asked {
    reflectors: Vec<Ipv4Addr>,
    /// Drawn at random: nobody who has not seen a probe knows what it carries.
    key: RandomState,
}

impl Asked {
    pub(crate) fn new(reflectors: Vec<Ipv4Addr>) -> Asked {
        let key = RandomState::new();
        Asked { reflectors, key }
    }

    fn reflector(&self, number: u16) -> Option<Ipv4Addr> {
        let turn = usize::from(number).checked_rem(self.reflectors.len())?;
        self.reflectors.get(turn).copied()
    }

    fn identifier(&self) -> u16 {
        self.key.hash_one("identifier") as u16
    }

    fn request(&self, number: u16) -> Vec<u8> {
        let mut payload = [0; PAYLOAD];
        payload[..8].copy_from_slice(&self.key.hash_one(number).to_be_bytes());
        ECHO.request(self.identifier(), number, &payload)
    }

    /// The number of the probe that an IP packet answers, if it comes from whom the probe asked and brings back what it carried.
    pub(crate) fn reply(&self, packet: &[u8]) -> Option<u16> {
        let reply = ECHO.reply(packet)?;
        let sender: [u8; 4] = packet.get(12..16)?.try_into().ok()?;
        let number = reply.sequence;
        let is_from_whom_was_asked = self.reflector(number) == Some(Ipv4Addr::from(sender));
        let is_ours = reply.identifier == self.identifier()
            && reply.payload.get(..8)? == self.key.hash_one(number).to_be_bytes();
        (is_from_whom_was_asked && is_ours).then_some(number)
    }
}

impl Pinger {
    pub(crate) fn open(
        reflectors: Vec<Ipv4Addr>,
        clock: fn() -> Time,
    ) -> Result<Pinger, SteerError> {
        let socket = Arc::new(ECHO.open().map_err(SteerError::Probe)?);
        let (sender, replies) = sync_channel(WAITING);
        let asked = Arc::new(Asked::new(reflectors));
        let (listening, known) = (Arc::clone(&socket), Arc::clone(&asked));
        // It ends with the process: it holds nothing but its socket.
        thread::spawn(move || listen(&listening, &known, clock, &sender));
        Ok(Pinger {
            socket,
            asked,
            replies,
        })
    }

    pub(crate) fn send(&self, number: u32) -> Result<(), SteerError> {
        let number = number as u16;
        let Some(reflector) = self.asked.reflector(number) else {
            return Ok(());
        };
        let to = SocketAddrV4::new(reflector, 0);
        let request = self.asked.request(number);
        // A reflector that cannot be reached now is silent, which is told by itself.
        let _ = sendto(&*self.socket, &request, SendFlags::DONTWAIT, &to);
        Ok(())
    }

    pub(crate) fn replies(&self) -> impl Iterator<Item = Reply> + '_ {
        self.replies.try_iter()
    }
}

fn listen(mut socket: &Socket, asked: &Asked, clock: fn() -> Time, sender: &SyncSender<Reply>) {
    let mut buffer = [0; 2_048];
    while let Ok(len) = socket.read(&mut buffer) {
        let Some(number) = asked.reply(&buffer[..len]) else {
            continue;
        };
        let at = clock();
        // Where too many wait, this one is late anyway.
        if let Err(TrySendError::Disconnected(_)) = sender.try_send(Reply { number, at }) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer to a request, in an IP packet from there.
    fn answer(request: &[u8], from: [u8; 4]) -> Vec<u8> {
        let mut packet = vec![0x45; 20];
        packet[12..16].copy_from_slice(&from);
        packet.extend(request);
        packet[20] = 0;
        packet
    }

    #[test]
    fn an_answer_counts_if_who_was_asked_brings_back_what_was_sent() {
        let reflectors = [[192, 0, 2, 1], [192, 0, 2, 2]];
        let asked = Asked::new(reflectors.map(Ipv4Addr::from).to_vec());
        let request = asked.request(77);
        let good = answer(&request, reflectors[1]);
        assert_eq!(asked.reply(&good), Some(77));
        assert_eq!(asked.reply(&answer(&request, reflectors[0])), None);
        assert_eq!(asked.reply(&answer(&request, [192, 0, 2, 9])), None);
        let mut own = good.clone();
        own[20] = 8;
        assert_eq!(asked.reply(&own), None, "a request");
        // Another program's, another probe's number, and a payload that was guessed.
        for at in [24, 27, 28, 35] {
            let mut other = good.clone();
            other[at] ^= 2;
            assert_eq!(asked.reply(&other), None, "byte {at}");
        }
        for cut in 0..36 {
            assert_eq!(asked.reply(&good[..cut]), None);
        }
        let later = Asked::new(reflectors.map(Ipv4Addr::from).to_vec());
        assert_eq!(later.reply(&good), None, "of a process that was before");
    }
}
