//! The loop: packets come, wait in CAKE, and get their verdicts.

use crate::error::ShapeError;
use crate::held::{Reader, Store, Waiting};
use crate::large::{self, Split};
use crate::pace;
use crate::queues::{BATCH, Queues, Verdict};
use crate::rules::{self, Rules};
use fastrand::Rng;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::sync::atomic::{AtomicBool, Ordering};
use tracing::{debug, info};
use unbloat_autorate::{Autorate, Decision, Policy};
use unbloat_os::clock::monotonic;
use unbloat_os::{device, priority};
use unbloat_qdisc::discipline::cake::{Cake, Params};
use unbloat_qdisc::{Backlog, Context, Ecn, IpLen, Observer, Packet, Queue};
use unbloat_units::{Both, Delta, Direction, Rate, Time};

/// What is to be shaped, and how.
#[derive(Clone, Debug)]
pub struct Options {
    pub interface: String,
    /// None leaves a direction alone.
    pub cakes: Both<Option<Params>>,
    /// Who changes the rates.
    pub policy: Option<Policy>,
    /// How often [`Event::Counts`] is told.
    pub every: Delta,
}

/// What happened in one direction since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    pub rate: Option<Rate>,
    pub packets: u64,
    pub bytes: u64,
    pub dropped: u64,
    /// Told of congestion in place of being dropped.
    pub marked: u64,
    pub backlog: Backlog,
    /// Longest wait of a packet since the last time this was told.
    pub longest: Delta,
}

/// What is told while it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    Counts {
        at: Time,
        sides: Both<Option<Counts>>,
    },
    Decided(Decision),
}

struct Side {
    queue: u16,
    cake: Cake,
    counts: Counts,
}

/// An interface that is shaped as long as this lives.
pub struct Shaper {
    // The rules go first, so that packets pass while queues end.
    _rules: Rules,
    queues: Queues,
    sides: Both<Option<Side>>,
    store: Store,
    reader: Reader,
    arrivals: Vec<Packet>,
    rng: Rng,
    autorate: Option<Autorate>,
    every: Delta,
    tell_at: Time,
}

/// Queue numbers below these are in use by others more often.
const FIRST_QUEUE: u16 = 0x5542;
/// Longest sleep: a stop is seen after it.
const NAP: Delta = Delta::ms(100);
impl Shaper {
    pub fn start(options: &Options) -> Result<Shaper, ShapeError> {
        check(&options.interface)?;
        let mut queues = Queues::open()?;
        let (mut sides, mut first) = (Both::<Option<Side>>::default(), FIRST_QUEUE);
        for (direction, params) in options.cakes.entries() {
            if let Some(params) = params {
                let queue = queues.bind(first)?;
                queues.keep_large(queue, large::stay_whole(params));
                first = queue + 1;
                sides[direction] = Some(Side {
                    queue,
                    cake: Cake::new(*params),
                    counts: Counts {
                        rate: params.rate,
                        ..Counts::default()
                    },
                });
            }
        }
        let numbers = sides
            .as_ref()
            .map(|side| side.as_ref().map(|side| side.queue));
        let now = monotonic();
        let autorate = options.policy.map(|policy| {
            let shaped = sides.as_ref().map(Option::is_some);
            Autorate::new(unbloat_autorate::Params { policy, shaped }, now)
        });
        info!(
            interface = options.interface,
            queue_down = numbers.down,
            queue_up = numbers.up,
            rate_down_bps = rate_bps(options.cakes.down),
            rate_up_bps = rate_bps(options.cakes.up),
            follows = options.policy.is_some(),
            "shaping"
        );
        Ok(Shaper {
            _rules: Rules::install(&options.interface, numbers)?,
            queues,
            sides,
            store: Store::default(),
            reader: Reader::new(1),
            arrivals: Vec::new(),
            rng: Rng::with_seed(1),
            autorate,
            every: options.every,
            tell_at: now + options.every,
        })
    }

    /// Shapes until `stop`.
    pub fn run(
        &mut self,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(Event),
    ) -> Result<(), ShapeError> {
        pace::hurry();
        let ended = self.turns(stop, tell);
        priority::take_normal();
        ended
    }

    fn turns(&mut self, stop: &AtomicBool, tell: &mut dyn FnMut(Event)) -> Result<(), ShapeError> {
        while !stop.load(Ordering::Relaxed) {
            let now = monotonic();
            let taken = self
                .take_packets(now)
                .map_err(ShapeError::kernel("reading packets"))?;
            self.think(now, tell);
            let sent = self.send_due(now);
            self.queues
                .flush()
                .map_err(ShapeError::kernel("sending verdicts"))?;
            match (taken, sent) {
                (0, 0) => self.sleep(now),
                // More may wait.
                (BATCH, _) => pace::rest(),
                _ => pace::pause_since(now),
            }
        }
        Ok(())
    }

    /// Lets what has come wait in CAKE; how many those are.
    fn take_packets(&mut self, now: Time) -> std::io::Result<usize> {
        let mut arrivals = std::mem::take(&mut self.arrivals);
        let Shaper {
            queues,
            store,
            reader,
            ..
        } = self;
        let taken = queues.receive(|held| {
            let (mut packet, waiting) = reader.read(now, &held);
            if held.mark != 0 {
                // Its mark is somebody's, and ours would take its place: it is dropped where it would be marked.
                packet.ecn = Ecn::NotEct;
            }
            packet.handle = store.put(waiting);
            arrivals.push(packet);
        })?;
        for packet in arrivals.drain(..) {
            self.arrive(now, packet);
        }
        self.arrivals = arrivals;
        Ok(taken)
    }

    fn arrive(&mut self, now: Time, mut packet: Packet) {
        let Waiting {
            queue, seen, split, ..
        } = *self.store.get(packet.handle);
        let Some((direction, side)) = self.side_of(queue) else {
            self.decide(packet.handle, Verdict::Accept);
            return;
        };
        packet.len = IpLen::new(split.charged(side.cake.params()));
        if let (Some(autorate), Direction::Down) = (&mut self.autorate, direction) {
            autorate.incoming(now, &seen);
        }
        self.with_cake(direction, |cake, cx| cake.enqueue(now, packet, cx));
    }

    fn side_of(&self, queue: u16) -> Option<(Direction, &Side)> {
        let sides = self.sides.entries();
        let mut shaped = sides.filter_map(|(direction, side)| Some((direction, side.as_ref()?)));
        shaped.find(|(_, side)| side.queue == queue)
    }

    /// Lets CAKE work; what it drops is dropped.
    fn with_cake<T>(
        &mut self,
        direction: Direction,
        act: impl FnOnce(&mut Cake, &mut Context<'_>) -> T,
    ) -> Option<T> {
        let Shaper { sides, rng, .. } = self;
        let mut losses = Losses(Vec::new());
        let mut cx = Context {
            rng,
            observer: &mut losses,
        };
        let value = act(&mut sides[direction].as_mut()?.cake, &mut cx);
        for handle in losses.0 {
            let lost = self.decide(handle, Verdict::Drop).split.packets;
            self.sides[direction].as_mut()?.counts.dropped += u64::from(lost);
        }
        Some(value)
    }

    /// Sends what is due; how many packets those are.
    fn send_due(&mut self, now: Time) -> usize {
        let mut sent = 0;
        for direction in Direction::BOTH {
            while let Some(Some(packet)) =
                self.with_cake(direction, |cake, cx| cake.dequeue(now, cx))
            {
                self.sent(now, direction, &packet);
                sent += 1;
            }
        }
        sent
    }

    fn sent(&mut self, now: Time, direction: Direction, packet: &Packet) {
        let is_marked = packet.ecn == Ecn::Ce && self.store.get(packet.handle).ecn != Ecn::Ce;
        let verdict = match is_marked {
            true => Verdict::Congested,
            false => Verdict::Accept,
        };
        let waiting = self.decide(packet.handle, verdict);
        let Some(side) = &mut self.sides[direction] else {
            return;
        };
        let Split { packets, bytes } = waiting.split;
        side.counts.packets += u64::from(packets);
        side.counts.bytes += u64::from(bytes);
        if is_marked {
            side.counts.marked += u64::from(packets);
        }
        side.counts.longest = side.counts.longest.max(now.since(packet.enqueued));
        if let Some(autorate) = &mut self.autorate {
            match direction {
                Direction::Down => autorate.shaped(now, bytes),
                Direction::Up => autorate.outgoing(now, &waiting.seen),
            }
        }
    }

    fn decide(&mut self, handle: u32, verdict: Verdict) -> Waiting {
        let waiting = self.store.take(handle);
        self.queues.decide(waiting.queue, waiting.id, verdict);
        waiting
    }

    /// Thinks rates over, and tells what happened.
    fn think(&mut self, now: Time, tell: &mut dyn FnMut(Event)) {
        if let Some(autorate) = &mut self.autorate
            && now >= autorate.tick_at()
        {
            autorate.tick(now);
            for decision in autorate.decisions() {
                if let Some(side) = &mut self.sides[decision.direction] {
                    side.cake.set_rate(Some(decision.after));
                    let stay_whole = large::stay_whole(side.cake.params());
                    self.queues.keep_large(side.queue, stay_whole);
                    side.counts.rate = Some(decision.after);
                }
                debug!(
                    direction = decision.direction.name(),
                    after_bps = decision.after.as_bps(),
                    reason = ?decision.reason,
                    "decision"
                );
                tell(Event::Decided(decision));
            }
        }
        if now >= self.tell_at {
            self.tell_at = now + self.every;
            let sides = self.counts();
            debug!(down = ?sides.down, up = ?sides.up, "counts");
            tell(Event::Counts { at: now, sides });
        }
    }

    /// What happened until now; longest waits begin anew.
    pub fn counts(&mut self) -> Both<Option<Counts>> {
        self.sides.as_mut().map(|side| {
            let side = side.as_mut()?;
            let counts = Counts {
                backlog: side.cake.backlog(),
                ..side.counts
            };
            side.counts.longest = Delta::ZERO;
            Some(counts)
        })
    }

    /// Until something comes or is due.
    fn sleep(&self, now: Time) {
        let due = self
            .sides
            .iter()
            .flatten()
            .filter_map(|side| side.cake.ready_at(now));
        let due = due.chain([now + NAP, self.tell_at]);
        let due = due.chain(self.autorate.as_ref().map(Autorate::tick_at));
        let nap = due.min().map_or(NAP, |at| at.since(now)).max(Delta::ZERO);
        let timeout = Timespec {
            tv_sec: nap.as_ns() / 1_000_000_000,
            tv_nsec: nap.as_ns() % 1_000_000_000,
        };
        let mut descriptors = [PollFd::new(self.queues.socket(), PollFlags::IN)];
        // A signal ends it early, which does no harm.
        let _ = poll(&mut descriptors, Some(&timeout));
    }
}

/// Handles of packets that CAKE dropped.
struct Losses(Vec<u32>);

impl Observer for Losses {
    fn event(&mut self, _: Time, event: unbloat_qdisc::Event) {
        if let unbloat_qdisc::Event::Dropped { packet, .. } = event {
            self.0.push(packet.handle);
        }
    }
}

/// What [`Shaper::start`] would do, a step each.
pub fn steps(options: &Options) -> Result<Vec<String>, ShapeError> {
    check(&options.interface)?;
    let sides = options.cakes.entries();
    let shaped = sides.filter_map(|(direction, params)| Some((direction, params.as_ref()?)));
    Ok(shaped
        .map(|(direction, params)| {
            let rule = rules::text(&options.interface, direction);
            let rate = params
                .rate
                .map_or("no limit at first".to_owned(), |rate| rate.to_string());
            format!("{rule}; to CAKE, {direction}: {rate}, rtt {}", params.rtt)
        })
        .collect())
}

fn rate_bps(params: Option<Params>) -> Option<u64> {
    Some(params?.rate?.as_bps())
}

fn check(interface: &str) -> Result<(), ShapeError> {
    let is_name = (1..16).contains(&interface.len())
        && interface.chars().all(|c| c.is_ascii_graphic() && c != '/');
    if !is_name {
        return Err(ShapeError::BadName(interface.to_owned()));
    }
    match device::index(interface) {
        Ok(_) => Ok(()),
        Err(_) => Err(ShapeError::NoInterface(interface.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_none_are_refused_before_anything_is_done() {
        let options = |interface: &str| Options {
            interface: interface.to_owned(),
            cakes: Both::default(),
            policy: None,
            every: Delta::secs(1),
        };
        for name in ["", "a/b", "../x", "eth0; reboot", "seventeen-letters"] {
            let refused = Shaper::start(&options(name)).err();
            assert!(matches!(refused, Some(ShapeError::BadName(_))), "{name:?}");
        }
        let refused = Shaper::start(&options("nosuch0")).err();
        assert!(matches!(refused, Some(ShapeError::NoInterface(_))));
    }
}
