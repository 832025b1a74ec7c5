//! What is waited for.

use crate::error::{Doing, TrafficError};
use std::os::fd::AsFd;
use unbloat_os::epoll::{self, Epoll, EventFlags};
use unbloat_units::{Delta, Direction};

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// Of a flow.
    Listener(u32),
    /// Of a connection: the end that sends in that direction.
    End(u32, Direction),
    /// Of a flow: the end that receives in that direction.
    Datagrams(u32, Direction),
}

impl Token {
    fn number(self) -> u64 {
        let (kind, id) = match self {
            Token::Listener(id) => (0, id),
            Token::End(id, direction) => (1 + direction as u64, id),
            Token::Datagrams(id, direction) => (3 + direction as u64, id),
        };
        kind << 32 | u64::from(id)
    }

    fn of(number: u64) -> Token {
        let id = number as u32;
        match number >> 32 {
            0 => Token::Listener(id),
            1 => Token::End(id, Direction::Down),
            2 => Token::End(id, Direction::Up),
            3 => Token::Datagrams(id, Direction::Down),
            _ => Token::Datagrams(id, Direction::Up),
        }
    }
}

/// Something happened. Told once for each change: who is told reads, or writes, until the socket has no more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) token: Token,
    pub(crate) is_readable: bool,
    pub(crate) is_writable: bool,
    /// The peer has said that it sends no more.
    pub(crate) is_closed: bool,
    pub(crate) is_broken: bool,
}

pub(crate) struct Poll(Epoll);

impl Poll {
    pub(crate) fn new() -> Result<Poll, TrafficError> {
        let epoll = Epoll::new().doing(|| "making an epoll".to_owned())?;
        Ok(Poll(epoll))
    }

    pub(crate) fn add(&self, what: impl AsFd, token: Token) -> Result<(), TrafficError> {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        self.0
            .add(what, flags, token.number())
            .doing(|| "waiting for a socket".to_owned())
    }

    /// Waits for events, at most so long.
    pub(crate) fn wait(
        &self,
        most: Delta,
    ) -> Result<impl Iterator<Item = Event> + use<>, TrafficError> {
        let events = self.0.wait(Some(most));
        let events = events.doing(|| "waiting for events (this needs Linux 5.11)".to_owned())?;
        Ok(events.map(event))
    }
}

fn event(event: epoll::Event) -> Event {
    let flags = event.flags;
    Event {
        token: Token::of(event.data.u64()),
        is_readable: flags.contains(EventFlags::IN),
        is_writable: flags.contains(EventFlags::OUT),
        is_closed: flags.contains(EventFlags::RDHUP),
        is_broken: flags.intersects(EventFlags::ERR | EventFlags::HUP),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_survive_the_kernel() {
        let both = Direction::BOTH;
        let tokens = both
            .into_iter()
            .flat_map(|d| [Token::End(u32::MAX, d), Token::Datagrams(7, d)]);
        for token in tokens.chain([Token::Listener(9)]) {
            assert_eq!(Token::of(token.number()), token);
        }
    }
}
