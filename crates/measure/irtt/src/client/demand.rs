//! A session whose requests are sent when the caller says, each of the length it says: datagrams of applications.

use super::{Client, Plan, State};
use crate::Clocks;

impl Client {
    /// As [`Client::new`], but after the session is open it only waits: requests are those of [`Client::request`]. `plan.interval` is
    /// how often there will be one on average, `plan.length` the longest of them.
    pub fn on_demand(plan: Plan) -> Client {
        Client {
            is_on_demand: true,
            ..Client::new(plan)
        }
    }

    /// Writes a request to be sent now, and tells its number. None before the session is open, after it is over, or when it has had all
    /// that are booked.
    pub fn request(&mut self, now: Clocks, length: u16, out: &mut Vec<u8>) -> Option<u32> {
        let is_running = matches!(self.state, State::Running);
        let is_allowed = length <= self.session.params.length && self.is_on_demand;
        if !is_running || !is_allowed || self.session.is_full() {
            return None;
        }
        Some(self.session.book(now, length, self.plan.key.as_ref(), out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{Event, Poll};
    use crate::clock::Correction;
    use crate::{Fate, Limits, Server};
    use unbloat_units::{Delta, Time};

    fn clocks(ms: i64) -> Clocks {
        let at = Time::from_ns(0) + Delta::ms(ms);
        Clocks { wall: at, mono: at }
    }

    /// Open, and answered by a server 5 ms away each way.
    fn opened() -> (Client, Server) {
        let plan = Plan {
            length: 300,
            ..Plan::default()
        };
        let (mut client, mut server) = (
            Client::on_demand(plan),
            Server::new(Limits::default(), Vec::new(), [7; 32]),
        );
        let mut out = Vec::new();
        assert_eq!(client.poll(clocks(0), &mut out), Poll::Send);
        let reply = served(&mut server, &out, 5);
        assert_eq!(client.on_packet(&reply, clocks(10)), Ok(Event::Opened));
        (client, server)
    }

    fn served(server: &mut Server, packet: &[u8], at_ms: i64) -> Vec<u8> {
        let from = "192.0.2.1:9".parse().unwrap();
        let mut reply = Vec::new();
        let now = || clocks(at_ms);
        server
            .handle(from, packet, clocks(at_ms), now, &mut reply)
            .unwrap();
        reply
    }

    #[test]
    fn requests_go_when_they_are_asked_for_and_are_as_long_as_asked() {
        let (mut client, mut server) = opened();
        let mut out = Vec::new();
        assert_eq!(client.poll(clocks(500), &mut out), Poll::Wait(Time::MAX));
        for (number, at) in (0..20_u32).zip((0..).map(|n| 500 + n * n * 3 + n * 12)) {
            let length = 100 + 10 * number as u16;
            assert_eq!(client.request(clocks(at), length, &mut out), Some(number));
            assert_eq!(out.len(), usize::from(length));
            let reply = served(&mut server, &out, at + 5);
            assert_eq!(reply.len(), out.len());
            let event = client.on_packet(&reply, clocks(at + 10));
            assert_eq!(event, Ok(Event::Reply { seq: number }));
        }
        assert!(
            client
                .echoes()
                .iter()
                .all(|echo| echo.fate == Fate::Answered)
        );
        assert_eq!(
            Correction::of(client.echoes()).unwrap().idle_rtt(),
            Delta::ms(10)
        );
    }

    #[test]
    fn what_was_not_agreed_is_not_written() {
        let (mut client, _) = opened();
        let mut out = Vec::new();
        assert_eq!(client.request(clocks(500), 301, &mut out), None);
        client.stop(clocks(600).mono);
        assert_eq!(client.request(clocks(600), 100, &mut out), None);
    }
}
