//! Runs one scenario and writes down what happened.

use super::agenda::{Action, Agenda};
use super::bed::Bed;
use super::fault::{Doing, Fault, fault};
use super::pairing::pair;
use super::ping::Pinger;
use super::replay::Replay;
use super::socket::now_ns;
use super::tap::Tap;
use super::transfer::Transfer;
use super::{INPUT, OUTPUT};
use crate::outcome::{
    Distribution, FlowOutcome, KernelCounters, Outcome, PacketFate, QueueOutcome, QueueSample,
};
use crate::scenario::Scenario;
use std::fs;
use std::os::fd::AsFd;
use std::time::Duration;
use unbloat_os::epoll::{Epoll, EventFlags};

/// Input and output below [`INPUT`] and [`OUTPUT`].
pub(crate) const SCENARIO: &str = "scenario.json";
pub(crate) const OUTCOME: &str = "outcome.json";

/// A queue that has not emptied by then never will.
const LONGEST_DRAIN_NS: u64 = 3600 * 1_000_000_000;

pub(crate) fn run() -> Result<(), Fault> {
    let input = format!("{INPUT}/{SCENARIO}");
    let text = fs::read(&input).doing(|| format!("reading {input}"))?;
    let scenario = serde_json::from_slice(&text).doing(|| format!("reading {input}"))?;
    let outcome = Run::new(scenario)?.finish()?;
    let output = format!("{OUTPUT}/{OUTCOME}");
    let written = serde_json::to_vec(&outcome).doing(|| "writing the outcome".to_owned())?;
    fs::write(&output, written).doing(|| format!("writing {output}"))
}

/// What an event is about.
#[derive(Clone, Copy)]
enum Token {
    Timer,
    Ping,
    Listener(u16),
    Sender(u16),
    Receiver(u16),
}

struct Run {
    scenario: Scenario,
    bed: Bed,
    taps: [Tap; 2],
    epoll: Epoll,
    agenda: Agenda,
    transfers: Vec<Transfer>,
    replay: Replay,
    pinger: Pinger,
    begin_ns: u64,
    samples: Vec<QueueSample>,
}

impl Run {
    fn new(scenario: Scenario) -> Result<Run, Fault> {
        let bed = Bed::build(&scenario)?;
        let taps = bed.taps()?;
        let flows = (0..).zip(&scenario.flows);
        let transfers: Vec<_> = flows
            .map(|(i, flow)| Transfer::new(&bed, i, &flow.congestion_control))
            .collect::<Result<_, _>>()?;
        let replay = Replay::new(&bed, &scenario.arrivals)?;
        let begin_ns = (now_ns() + 10_000_000).next_multiple_of(1_000_000);
        let epoll = Epoll::new().doing(|| "making an epoll".to_owned())?;
        Ok(Run {
            agenda: Agenda::of(&scenario, begin_ns)?,
            pinger: Pinger::new(&bed, begin_ns)?,
            scenario,
            bed,
            taps,
            epoll,
            transfers,
            replay,
            begin_ns,
            samples: Vec::new(),
        })
    }

    /// Runs until the end, lets the queue empty, and says what happened.
    fn finish(mut self) -> Result<Outcome, Fault> {
        self.wait_for(&self.agenda.timer, Token::Timer, EventFlags::IN)?;
        self.wait_for(self.pinger.socket(), Token::Ping, EventFlags::IN)?;
        for (i, transfer) in (0..).zip(&self.transfers) {
            self.wait_for(transfer.listener(), Token::Listener(i), EventFlags::IN)?;
        }
        self.agenda.arm()?;
        while !self.turn()? {}
        self.bed.silence()?;
        let flows = self.transfers_done()?;
        let counters = self.drain()?;
        let [arrivals, departures] = self.taps.map(Tap::finish);
        let fates = pair(&arrivals?, &departures?, self.begin_ns).ok_or_else(|| {
            fault(
                "pairing arrivals and departures",
                "a packet came out that never went in",
            )
        })?;
        let queue = sum_up(&self.scenario, &fates, self.samples, counters);
        let kernel = rustix::system::uname();
        Ok(Outcome {
            kernel: kernel.release().to_string_lossy().into_owned(),
            flows,
            queue,
            pings: self.pinger.finish(),
            packets: if self.scenario.list_packets {
                fates
            } else {
                Vec::new()
            },
            begin_monotonic_ns: self.begin_ns,
            scenario: self.scenario,
        })
    }

    fn transfers_done(&mut self) -> Result<Vec<FlowOutcome>, Fault> {
        let Scenario {
            warmup_ns,
            length_ns,
            ..
        } = self.scenario;
        let transfers = std::mem::take(&mut self.transfers).into_iter();
        let done = transfers.zip(&self.scenario.flows).map(|(transfer, flow)| {
            let measured_ns = length_ns.saturating_sub(flow.start_ns.max(warmup_ns));
            transfer.finish(measured_ns as f64 / 1e9)
        });
        done.collect()
    }

    fn wait_for(&self, what: impl AsFd, token: Token, flags: EventFlags) -> Result<(), Fault> {
        self.epoll
            .add(what, flags, token.number())
            .doing(|| "waiting for a socket".to_owned())
    }

    /// Handles what has happened; true at the end.
    fn turn(&mut self) -> Result<bool, Fault> {
        let events = self.epoll.wait(None);
        let mut ended = false;
        for event in events.doing(|| "waiting for events".to_owned())? {
            match Token::of(event.data.u64()) {
                Token::Timer => ended = self.keep_agenda()?,
                Token::Ping => self.pinger.receive()?,
                Token::Sender(i) => self.transfers[usize::from(i)].write()?,
                Token::Receiver(i) => self.transfers[usize::from(i)].read()?,
                Token::Listener(i) => {
                    let receiver = self.transfers[usize::from(i)].accept()?;
                    let number = Token::Receiver(i).number();
                    let added = self.epoll.add(receiver, EventFlags::IN, number);
                    added.doing(|| "waiting for a receiver".to_owned())?;
                }
            }
        }
        Ok(ended)
    }

    /// Does what is due and sets the timer for what is not; true at the end.
    fn keep_agenda(&mut self) -> Result<bool, Fault> {
        while let Some((at_ns, action)) = self.agenda.due(now_ns()) {
            match action {
                Action::Start(i) => {
                    let transfer = &self.transfers[usize::from(i)];
                    transfer.start()?;
                    self.wait_for(transfer.sender(), Token::Sender(i), EventFlags::OUT)?;
                }
                Action::Send(i) => self.replay.send(&self.scenario.arrivals[i])?,
                Action::Ping => self.pinger.send()?,
                Action::EndWarmup => {
                    for transfer in &mut self.transfers {
                        transfer.end_warmup()?;
                    }
                }
                Action::Sample => self.sample(at_ns)?,
                Action::End => return Ok(true),
            }
        }
        self.agenda.arm()?;
        Ok(false)
    }

    fn sample(&mut self, at_ns: u64) -> Result<(), Fault> {
        for (transfer, flow) in self.transfers.iter_mut().zip(&self.scenario.flows) {
            if flow.start_ns < at_ns {
                transfer.sample(at_ns)?;
            }
        }
        let counters = self.bed.counters()?;
        self.samples.push(QueueSample { at_ns, counters });
        self.taps.iter_mut().try_for_each(Tap::drain)
    }

    /// Waits until the queue is empty.
    fn drain(&mut self) -> Result<KernelCounters, Fault> {
        let step = Duration::from_nanos(self.scenario.sample_every_ns);
        let last_ns = now_ns() + LONGEST_DRAIN_NS;
        while now_ns() < last_ns {
            std::thread::sleep(step);
            self.taps.iter_mut().try_for_each(Tap::drain)?;
            let counters = self.bed.counters()?;
            if counters.backlog_packets == 0 {
                self.pinger.receive()?;
                return Ok(counters);
            }
        }
        Err(fault(
            "letting the queue empty",
            "packets are still there after an hour",
        ))
    }
}

/// Of packets that arrived before the end.
fn sum_up(
    scenario: &Scenario,
    fates: &[PacketFate],
    samples: Vec<QueueSample>,
    counters: KernelCounters,
) -> QueueOutcome {
    let in_time = || {
        fates
            .iter()
            .filter(|fate| fate.arrived_ns < scenario.length_ns)
    };
    let count = |is: fn(&PacketFate) -> bool| in_time().filter(|fate| is(fate)).count() as u64;
    let measured = in_time().filter(|fate| fate.arrived_ns >= scenario.warmup_ns);
    let delays = measured.filter_map(|fate| Some(fate.left_ns? - fate.arrived_ns));
    QueueOutcome {
        arrived: count(|_| true),
        dropped: count(|fate| fate.left_ns.is_none()),
        marked: count(|fate| fate.marked),
        delay: Distribution::of(delays),
        samples,
        counters,
    }
}

impl Token {
    fn number(self) -> u64 {
        match self {
            Token::Timer => 0,
            Token::Ping => 1,
            Token::Listener(i) => 2 << 16 | u64::from(i),
            Token::Sender(i) => 3 << 16 | u64::from(i),
            Token::Receiver(i) => 4 << 16 | u64::from(i),
        }
    }

    fn of(number: u64) -> Token {
        let i = (number & 0xffff) as u16;
        match (number >> 16, i) {
            (0, 0) => Token::Timer,
            (0, _) => Token::Ping,
            (2, i) => Token::Listener(i),
            (3, i) => Token::Sender(i),
            (_, i) => Token::Receiver(i),
        }
    }
}
