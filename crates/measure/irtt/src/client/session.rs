//! A session that the server agreed to: its pace and its books.

use super::{Event, Pace};
use crate::Clocks;
use crate::echo::{Echo, Fate, Stamp};
use crate::wire::{
    EchoReply, Key, Layout, Params, ReceivedStats, StampAt, StampClock, encode_echo,
};
use unbloat_units::{Delta, Time};

/// Requests that are booked at most: three hours at 10 ms.
const MAX_ECHOES: usize = 1 << 20;
/// Last replies are awaited for that many of the longest round trip, and if there was none, for [`LAST_WAIT`] (irtt's `DefaultWait`).
const LAST_WAIT_RTTS: i64 = 3;
const LAST_WAIT: Delta = Delta::secs(4);

#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) token: u64,
    pub(super) params: Params,
    pub(super) layout: Layout,
    pub(super) echoes: Vec<Echo>,
    pub(super) pace: Pace,
    /// Longer than the agreed interval where the caller wants fewer requests.
    pub(super) interval: Delta,
    start: Option<Time>,
    /// When the next request is due.
    next: Time,
    longest_rtt: Delta,
    /// Greatest sequence number with a reply.
    newest: Option<u32>,
    unanswered: usize,
}

impl Default for Session {
    fn default() -> Session {
        let params = Params::default();
        let layout = Layout {
            authenticated: false,
            received_stats: ReceivedStats::default(),
            stamp_at: StampAt::None,
            clock: StampClock::default(),
        };
        Session::new(0, params, layout)
    }
}

impl Session {
    pub(super) fn new(token: u64, params: Params, layout: Layout) -> Session {
        Session {
            token,
            params,
            layout,
            echoes: Vec::new(),
            pace: Pace::default(),
            interval: Delta::ZERO,
            start: None,
            next: Time::MIN,
            longest_rtt: Delta::ZERO,
            newest: None,
            unanswered: 0,
        }
    }

    /// When the next request is due; none if there is none.
    pub(super) fn next_request(&mut self, now: Time) -> Option<Time> {
        let Some(start) = self.start else {
            self.start = Some(now);
            self.next = now;
            return Some(now);
        };
        let over = self.next - start >= self.params.duration || self.is_full();
        (!over).then_some(self.next)
    }

    /// Writes the request that is due, and sets when the next is: at the next multiple of the interval, or the one after
    /// that if more than half of the way to it has gone.
    pub(super) fn request(&mut self, now: Clocks, key: Option<&Key>, out: &mut Vec<u8>) {
        self.book(now, self.params.length, key, out);
        self.pace.worst = self.pace.worst.max(now.mono - self.next);
        let interval = self.params.interval.max(self.interval).max(Delta::ns(1));
        let late = (now.mono - self.next).as_ns() + interval.as_ns() / 2;
        let slots = late / interval.as_ns();
        self.pace.missed += slots as u64;
        self.next += interval * (slots + 1);
    }

    /// Writes a request of that length, whenever it is due, and tells its number.
    pub(super) fn book(
        &mut self,
        now: Clocks,
        length: u16,
        key: Option<&Key>,
        out: &mut Vec<u8>,
    ) -> u32 {
        let seq = self.echoes.len() as u32;
        let len = usize::from(length);
        encode_echo(self.token, seq, len, self.layout, key, out);
        self.echoes.push(Echo {
            seq,
            sent: now,
            received: None,
            server_received: Stamp::default(),
            server_sent: Stamp::default(),
            fate: Fate::Pending,
            late: false,
            duplicates_up: 0,
            duplicates_down: 0,
            received_count: None,
        });
        self.unanswered += 1;
        seq
    }

    /// No further request can be booked.
    pub(super) fn is_full(&self) -> bool {
        self.echoes.len() >= MAX_ECHOES
    }

    pub(super) fn reply(&mut self, reply: &EchoReply, received: Clocks) -> Event {
        let seq = reply.seq;
        let Some(echo) = self.echoes.get_mut(seq as usize) else {
            return Event::Stray;
        };
        if echo.received.is_some() {
            let same = echo.received_count == reply.received_count
                && echo.server_received == reply.received
                && echo.server_sent == reply.sent;
            let duplicates = match same {
                true => &mut echo.duplicates_down,
                false => &mut echo.duplicates_up,
            };
            *duplicates = duplicates.saturating_add(1);
            return Event::Duplicate { seq };
        }
        echo.received = Some(received);
        echo.server_received = reply.received;
        echo.server_sent = reply.sent;
        echo.received_count = reply.received_count;
        echo.fate = Fate::Answered;
        echo.late = self.newest.is_some_and(|newest| seq < newest);
        self.longest_rtt = self.longest_rtt.max(received.mono - echo.sent.mono);
        self.newest = self.newest.max(Some(seq));
        self.unanswered -= 1;
        self.book_window(seq, reply.received_window.unwrap_or(0));
        Event::Reply { seq }
    }

    /// What the server has seen of the 63 requests before `seq`. A bit that is set proves that the request came; one that
    /// is not set is no proof, because irtt's server empties its window after a late request.
    fn book_window(&mut self, seq: u32, window: u64) {
        if window == 0 {
            return;
        }
        for k in 1..64_u32.min(seq + 1) {
            let echo = &mut self.echoes[(seq - k) as usize];
            let came = window >> k & 1 != 0;
            echo.fate = match (echo.fate, came) {
                (Fate::Pending | Fate::LostUp, true) => Fate::LostDown,
                (Fate::Pending, false) => Fate::LostUp,
                (fate, _) => fate,
            };
        }
    }

    pub(super) fn last_wait(&self) -> Delta {
        match self.newest {
            Some(_) => self.longest_rtt * LAST_WAIT_RTTS,
            None => LAST_WAIT,
        }
    }

    pub(super) fn awaits_replies(&self) -> bool {
        self.unanswered > 0
    }

    /// What has no reply now gets none.
    pub(super) fn settle(&mut self) {
        for echo in self.echoes.iter_mut().filter(|e| e.fate == Fate::Pending) {
            echo.fate = Fate::Lost;
        }
    }
}
