//! A client against our server over a path that loses, doubles and overtakes, in virtual time; and against servers that lie.

use super::*;
use crate::clock::Correction;
use crate::echo::Fate;
use crate::wire::{EchoReply, encode_open_reply};
use crate::{Limits, Server};
use std::collections::BTreeMap;

fn clocks(at: Time) -> Clocks {
    let wall = at + Delta::secs(1_700_000_000);
    Clocks { wall, mono: at }
}

fn ms(ms: i64) -> Time {
    Time::from_ns(0) + Delta::ms(ms)
}

/// What a path does to packets; the same both ways but for the load.
#[derive(Clone, Copy, Default)]
struct Path {
    loss: f64,
    doubled: f64,
    /// Delays are from 10 ms to that much more, so later packets overtake.
    jitter: Delta,
    /// By the server's clock a second takes that much longer.
    server_ppm: f64,
}

/// What truly happened.
#[derive(Default)]
struct Truth {
    /// Requests at the server and first replies at the client, in order.
    reached: Vec<u32>,
    replied: Vec<u32>,
}

/// Packets under way: when each arrives, and whether at the server.
struct Wire {
    path: Path,
    rng: fastrand::Rng,
    under_way: BTreeMap<(Time, u32), (bool, Vec<u8>)>,
    sent: u32,
}

impl Wire {
    /// Opens are never lost: when they are tried again is another test.
    fn carry(&mut self, to_server: bool, packet: &[u8], at: Time) {
        let is_open = packet[3] & 1 != 0;
        let copies = 1 + usize::from(self.rng.f64() < self.path.doubled);
        for _ in 0..copies {
            self.sent += 1;
            if is_open || self.rng.f64() >= self.path.loss {
                let jitter = self.path.jitter.as_secs() * self.rng.f64();
                let arrival = at + Delta::ms(10) + Delta::from_secs_f64(jitter);
                let under_way = (to_server, packet.to_vec());
                self.under_way.insert((arrival, self.sent), under_way);
            }
        }
    }

    fn next(&self) -> Time {
        let mut times = self.under_way.keys();
        times.next().map_or(Time::MAX, |&(at, _)| at)
    }
}

impl Path {
    fn run(self, plan: Plan) -> (Client, Truth) {
        let mut wire = Wire {
            path: self,
            rng: fastrand::Rng::with_seed(21),
            under_way: BTreeMap::new(),
            sent: 0,
        };
        let mut server = self.server(&plan);
        let mut client = Client::new(plan);
        let mut truth = Truth::default();
        let mut now = ms(0);
        let mut out = Vec::new();
        loop {
            let wake = match client.poll(clocks(now), &mut out) {
                Poll::Send => {
                    wire.carry(true, &out, now);
                    continue;
                }
                Poll::Wait(until) => until,
                Poll::Done => return (client, truth),
            };
            now = wake.min(wire.next());
            if wire.next() > now {
                continue;
            }
            let (_, (to_server, packet)) = wire.under_way.pop_first().unwrap();
            if to_server {
                truth.at_server(&packet);
                if self.serve(&mut server, &packet, now, &mut out) {
                    wire.carry(false, &out, now + Delta::us(30));
                }
            } else if let Event::Reply { seq } = client.on_packet(&packet, clocks(now)).unwrap() {
                truth.replied.push(seq);
            }
        }
    }

    fn server(self, plan: &Plan) -> Server {
        let limits = Limits {
            min_interval: Delta::ms(1),
            burst: 50,
            ..Limits::default()
        };
        Server::new(limits, plan.key.iter().cloned().collect(), [1; 32])
    }

    /// Whether there is a reply, 30 us later.
    fn serve(self, server: &mut Server, packet: &[u8], now: Time, out: &mut Vec<u8>) -> bool {
        let there = |at: Time| clocks(ms(0) + drifted(at - ms(0), self.server_ppm));
        let from = "192.0.2.1:4".parse().unwrap();
        let leaves = || there(now + Delta::us(30));
        let _ = server.handle(from, packet, there(now), leaves, out);
        !out.is_empty()
    }
}

impl Truth {
    fn at_server(&mut self, packet: &[u8]) {
        let is_echo = packet[3] & 5 == 0;
        let at = if packet[3] & 8 != 0 { 28 } else { 12 };
        let seq = || u32::from_le_bytes(packet[at..at + 4].try_into().unwrap());
        self.reached.extend(is_echo.then(seq));
    }
}

fn drifted(span: Delta, ppm: f64) -> Delta {
    Delta::from_secs_f64(span.as_secs() * (1.0 + ppm * 1e-6))
}

fn overtaken(order: &[u32]) -> u64 {
    let mut greatest = 0;
    let behind = order.iter().filter(|&&seq| {
        let is_behind = seq < greatest;
        greatest = greatest.max(seq);
        is_behind
    });
    behind.count() as u64
}

fn seconds(secs: i64) -> Plan {
    Plan {
        duration: Delta::secs(secs),
        ..Plan::default()
    }
}

#[test]
fn on_a_good_path_every_request_is_answered_and_on_time() {
    let (client, truth) = Path::default().run(seconds(10));
    assert_eq!(client.ended(), Some(Ok(())));
    let account = client.account();
    let expected = Account {
        sent: 1_000,
        answered: 1_000,
        ..Account::default()
    };
    assert_eq!(account, expected);
    assert_eq!(client.pace(), Pace::default());
    assert_eq!(truth.reached.len(), 1_000);
    assert_eq!(
        (account.loss_up(), account.loss_down()),
        (Some(0.0), Some(0.0))
    );
    let sent: Vec<Time> = client.echoes().iter().map(|e| e.sent.mono).collect();
    assert!(sent.windows(2).all(|w| w[1] - w[0] == Delta::ms(10)));
    let rtts = client.echoes().iter().map(|e| e.rtt().unwrap());
    assert!(rtts.into_iter().all(|rtt| rtt == Delta::ms(20)));
}

#[test]
fn losses_are_told_apart_by_direction() {
    let lossy = Path {
        loss: 0.1,
        ..Path::default()
    };
    let (client, truth) = lossy.run(seconds(60));
    let account = client.account();
    let reached: std::collections::BTreeSet<u32> = truth.reached.into_iter().collect();
    for echo in client.echoes() {
        match echo.fate {
            Fate::Answered | Fate::LostDown => assert!(reached.contains(&echo.seq)),
            Fate::LostUp => assert!(!reached.contains(&echo.seq)),
            Fate::Lost => assert!(echo.seq > 5_900, "{}", echo.seq),
            Fate::Pending => panic!("pending at the end"),
        }
    }
    assert_eq!(account.answered, truth.replied.len() as u64);
    assert!(
        (0.08..0.12).contains(&account.loss_up().unwrap()),
        "{account:?}"
    );
    assert!(
        (0.08..0.12).contains(&account.loss_down().unwrap()),
        "{account:?}"
    );
    assert_eq!(account.duplicates_up + account.duplicates_down, 0);
}

#[test]
fn overtaking_is_counted_in_the_direction_where_it_was() {
    let (client, truth) = Path {
        jitter: Delta::ms(25),
        ..Path::default()
    }
    .run(seconds(20));
    let account = client.account();
    assert_eq!(account.answered, 2_000);
    assert_eq!(account.reordered_up, overtaken(&truth.reached));
    assert!(
        account.reordered_up > 300 && account.reordered_down > 300,
        "{account:?}"
    );
    assert_eq!(account.late, overtaken(&truth.replied));
}

#[test]
fn duplicates_are_counted_in_the_direction_where_they_were_made() {
    let (client, truth) = Path {
        doubled: 0.05,
        ..Path::default()
    }
    .run(seconds(60));
    let account = client.account();
    let doubled_up = truth.reached.len() as u64 - 6_000;
    assert_eq!(account.duplicates_up, doubled_up);
    assert!((250..400).contains(&account.duplicates_down), "{account:?}");
    assert_eq!(account.lost_up + account.lost_down, 0);
}

#[test]
fn everything_at_once_still_adds_up() {
    let (client, truth) = Path {
        loss: 0.05,
        doubled: 0.05,
        jitter: Delta::ms(40),
        server_ppm: 80.0,
    }
    .run(seconds(60));
    let account = client.account();
    let lost = account.lost_up + account.lost_down + account.lost_somewhere;
    assert_eq!(account.answered + lost, account.sent);
    assert_eq!(account.answered, truth.replied.len() as u64);
    let distinct: std::collections::BTreeSet<u32> = truth.reached.iter().copied().collect();
    let missing = account.sent - distinct.len() as u64;
    assert!(
        account.lost_up.abs_diff(missing) <= account.lost_somewhere + 2,
        "{account:?}"
    );
    let doubled_up = (truth.reached.len() - distinct.len()) as u64;
    assert!(
        account.duplicates_up <= doubled_up,
        "{account:?} {doubled_up}"
    );
    assert!(
        account.duplicates_up * 10 >= doubled_up * 9,
        "{account:?} {doubled_up}"
    );
}

#[test]
fn delays_are_right_though_the_servers_clock_runs_fast() {
    let (client, _) = Path {
        server_ppm: 150.0,
        ..Path::default()
    }
    .run(seconds(20));
    let correction = Correction::of(client.echoes()).unwrap();
    for echo in client.echoes() {
        let one_way = correction.one_way(echo).unwrap();
        assert!(
            (one_way.up - Delta::ms(10)).as_us().abs() < 20,
            "{one_way:?}"
        );
        assert!(
            (one_way.down - Delta::ms(10)).as_us().abs() < 20,
            "{one_way:?}"
        );
    }
}

#[test]
fn a_key_that_both_have_is_used() {
    let plan = Plan {
        key: Some(Key::new(b"rose")),
        ..seconds(2)
    };
    let (client, _) = Path::default().run(plan);
    assert_eq!(client.account().answered, 200);
}

#[test]
fn an_open_is_tried_again_after_1_2_and_4_s_and_given_up_after_8_more() {
    let mut client = Client::new(seconds(1));
    let mut out = Vec::new();
    for (at, wait) in [(0, 1_000), (1_000, 3_000), (3_000, 7_000), (7_000, 15_000)] {
        assert_eq!(client.poll(clocks(ms(at)), &mut out), Poll::Send, "{at}");
        assert!(out.len() >= OPEN_LEN);
        assert_eq!(client.poll(clocks(ms(at)), &mut out), Poll::Wait(ms(wait)));
    }
    assert_eq!(client.poll(clocks(ms(15_000)), &mut out), Poll::Done);
    let (tries, waited) = (4, Delta::secs(15));
    let gave_up = ClientError::NoAnswer { tries, waited };
    assert_eq!(client.ended(), Some(Err(gave_up)));
}

/// A client whose server agreed to all it asked for.
fn opened(plan: Plan) -> Client {
    let mut client = Client::new(plan);
    let mut out = Vec::new();
    client.poll(clocks(ms(0)), &mut out);
    let agreed = client.asked();
    encode_open_reply(5, false, &agreed, None, &mut out);
    assert_eq!(client.on_packet(&out, clocks(ms(0))), Ok(Event::Opened));
    client
}

fn reply(client: &Client, seq: u32, window: u64) -> Vec<u8> {
    let reply = EchoReply {
        token: 5,
        seq,
        received_count: Some(seq + 1),
        received_window: Some(window),
        ..EchoReply::default()
    };
    let mut out = Vec::new();
    let now = clocks(ms(1));
    reply.encode(client.session.layout, now, || now, &[], None, &mut out);
    out
}

#[test]
fn a_slot_that_was_slept_through_is_missed_and_not_made_up_for() {
    let mut client = opened(seconds(1));
    let mut out = Vec::new();
    let mut sent = Vec::new();
    for at in [0, 10, 20, 57, 58, 60, 70, 80, 94, 100] {
        if client.poll(clocks(ms(at)), &mut out) == Poll::Send {
            sent.push(at);
        }
    }
    // 57 is nearer to 60 than to 50, so the next is at 70; 94 is nearer to 90.
    assert_eq!(sent, [0, 10, 20, 57, 70, 80, 94, 100]);
    let pace = client.pace();
    assert_eq!((pace.missed, pace.worst), (3, Delta::ms(27)));
    assert_eq!(client.echoes().len(), 8);
}

#[test]
fn last_replies_are_awaited_for_three_of_the_longest_round_trips_and_then_it_closes() {
    let mut client = opened(Plan {
        duration: Delta::ms(20),
        ..Plan::default()
    });
    let mut out = Vec::new();
    client.poll(clocks(ms(0)), &mut out);
    client.poll(clocks(ms(10)), &mut out);
    let first = reply(&client, 0, 1);
    client.on_packet(&first, clocks(ms(15))).unwrap();
    assert_eq!(client.poll(clocks(ms(20)), &mut out), Poll::Wait(ms(65)));
    assert_eq!(client.poll(clocks(ms(65)), &mut out), Poll::Send);
    assert_eq!(out, [0x14, 0xa7, 0x5b, 4, 5, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(client.poll(clocks(ms(65)), &mut out), Poll::Done);
    let fates: Vec<Fate> = client.echoes().iter().map(|e| e.fate).collect();
    assert_eq!(fates, [Fate::Answered, Fate::Lost]);
}

#[test]
fn an_irtt_server_that_empties_its_window_does_not_make_a_request_lost() {
    let mut client = opened(seconds(1));
    let mut out = Vec::new();
    for at in 0..6 {
        client.poll(clocks(ms(10 * at)), &mut out);
    }
    // 0 to 3 reached it, its replies to 1 and 2 were lost; then 4 came late, and its window began anew.
    for (seq, window) in [(0, 0b1), (3, 0b1111), (4, 0b1)] {
        let packet = reply(&client, seq, window);
        client.on_packet(&packet, clocks(ms(60))).unwrap();
    }
    let fates: Vec<Fate> = client.echoes().iter().map(|e| e.fate).collect();
    use Fate::{Answered, LostDown, Pending};
    assert_eq!(
        fates,
        [Answered, LostDown, LostDown, Answered, Answered, Pending]
    );
}

#[test]
fn a_reply_after_all_turns_a_loss_into_a_late_one() {
    let mut client = opened(seconds(1));
    let mut out = Vec::new();
    for at in 0..3 {
        client.poll(clocks(ms(10 * at)), &mut out);
    }
    let later = reply(&client, 2, 0b101);
    client.on_packet(&later, clocks(ms(30))).unwrap();
    assert_eq!(client.echoes()[1].fate, Fate::LostUp);
    let late = reply(&client, 1, 0b11);
    assert_eq!(
        client.on_packet(&late, clocks(ms(40))),
        Ok(Event::Reply { seq: 1 })
    );
    let echo = client.echoes()[1];
    assert_eq!((echo.fate, echo.late), (Fate::Answered, true));
    assert_eq!(
        client.on_packet(&late, clocks(ms(41))),
        Ok(Event::Duplicate { seq: 1 })
    );
}

#[test]
fn a_server_that_extends_what_was_asked_is_not_followed() {
    let asked = Client::new(seconds(10)).asked();
    let longer = Params {
        duration: Delta::secs(11),
        ..asked.clone()
    };
    let faster = Params {
        interval: Delta::ms(9),
        ..asked.clone()
    };
    let larger = Params {
        length: 1,
        ..asked.clone()
    };
    let later = Params {
        version: 2,
        ..asked.clone()
    };
    let less = Params {
        duration: Delta::secs(3),
        interval: Delta::ms(20),
        ..asked
    };
    for (params, closed, token, is_followed) in [
        (longer, false, 1, false),
        (faster, false, 1, false),
        (larger, false, 1, false),
        (later, false, 1, false),
        (less.clone(), false, 0, false),
        (less.clone(), true, 1, false),
        (less, false, 1, true),
    ] {
        let mut client = Client::new(seconds(10));
        let mut out = Vec::new();
        client.poll(clocks(ms(0)), &mut out);
        encode_open_reply(token, closed, &params, None, &mut out);
        let event = client.on_packet(&out, clocks(ms(5))).unwrap();
        assert_eq!(event == Event::Opened, is_followed, "{params:?}");
        assert_eq!(client.agreed().is_some(), is_followed);
        assert_eq!(matches!(client.ended(), Some(Err(_))), !is_followed);
    }
}

#[test]
fn a_server_that_ends_the_session_ends_it() {
    let mut client = opened(seconds(10));
    let mut out = Vec::new();
    client.poll(clocks(ms(0)), &mut out);
    let mut last = reply(&client, 0, 1);
    last[3] |= 4;
    client.on_packet(&last, clocks(ms(5))).unwrap();
    assert_eq!(client.poll(clocks(ms(10)), &mut out), Poll::Done);
    assert_eq!(client.account().answered, 1);
}

#[test]
fn any_packets_from_a_server_are_survived() {
    let mut rng = fastrand::Rng::with_seed(13);
    let mut client = opened(seconds(600));
    let mut out = Vec::new();
    for k in 0..40_000 {
        let at = clocks(ms(k));
        if client.poll(at, &mut out) == Poll::Done {
            client = opened(seconds(600));
        }
        let sent = client.echoes().len() as u32 + 3;
        let mut packet = reply(&client, rng.u32(..sent), rng.u64(..));
        for _ in 0..rng.usize(..4) {
            let byte = rng.usize(..packet.len());
            packet[byte] = rng.u8(..);
        }
        packet.truncate(rng.usize(packet.len() / 2..=packet.len()));
        let _ = client.on_packet(&packet, at);
        if k % 1_000 == 0 {
            let account = client.account();
            let _ = (account.loss(), Correction::of(client.echoes()));
        }
    }
}

#[test]
fn a_caller_may_want_fewer_requests_than_were_agreed_but_not_more() {
    let mut client = opened(seconds(10));
    let mut sent = |from: i64, every: Option<i64>| {
        let before = client.echoes().len();
        every
            .into_iter()
            .for_each(|span| client.pace_at(Delta::ms(span)));
        for k in from..from + 1_000 {
            client.poll(clocks(ms(k)), &mut Vec::new());
        }
        client.echoes().len() - before
    };
    assert_eq!(sent(0, None), 100);
    assert!((10..=11).contains(&sent(1_000, Some(100))));
    assert!((90..=100).contains(&sent(2_000, Some(1))));
}
