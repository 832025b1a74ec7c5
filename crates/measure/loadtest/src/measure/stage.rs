//! One stage.

use super::away::{Life, of_loads};
use super::{Progress, TICK, Test};
use crate::flow::Flow;
use crate::host::Ticks;
use crate::load::Carrier;
use crate::measured::{HostLoad, StageRun};
use crate::plan::{Load, Stage, alone};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::task::JoinHandle;
use tracing::info;
use unbloat_units::{Both, Bytes, Delta, Direction, Rate, Time};

/// Time over which rates are averaged and the least round trip is taken, which contains the queue that stands.
const RATE_OVER: Delta = Delta::secs(1);

/// The connections of one stage and what they carried lately.
struct Loads {
    carriers: Vec<(Arc<Flow>, JoinHandle<()>)>,
    /// Of two seconds.
    lately: VecDeque<Tick>,
    /// What had been carried when the ramp was over.
    ramped: Option<(Time, Both<Bytes>)>,
}

/// When, what had been carried by then, and the last round trip.
type Tick = (Time, Both<Bytes>, Option<Delta>);

impl Test<'_> {
    /// Runs the planned stage of that number; `run` counts those that are run.
    pub(super) async fn stage(
        &mut self,
        (run, number): (usize, usize),
        stop: &AtomicBool,
        progress: &mut dyn FnMut(&Progress),
    ) -> StageRun {
        let planned = self.options.plan.stages[number];
        let apps = self.start_apps(run, planned.load);
        let before = Ticks::now();
        let begin = self.clock.now();
        info!(
            stage = run,
            load = planned.load.name(),
            stack = planned.stack.name(),
            lasts_s = planned.lasts.as_secs(),
            "stage begins"
        );
        let probing = self.prober.as_ref().map(|prober| prober.begin());
        let mut loads = Loads {
            carriers: Vec::new(),
            lately: VecDeque::new(),
            ramped: None,
        };
        let mut life = Life::new(begin);
        loop {
            let now = self.clock.now();
            let elapsed = now.since(begin);
            let carried = of_loads(loads.carriers.iter().map(|(flow, _)| &**flow));
            self.gone = self.look_for_server(&mut life, now, carried).await;
            if self.gone.is_some() {
                break;
            }
            if elapsed >= planned.lasts || stop.load(Ordering::Relaxed) {
                break;
            }
            if let Some(carrier) = self
                .carrier
                .as_ref()
                .filter(|one| one.is_spent(planned.load))
            {
                let bound = carrier.service.bound.unwrap_or_default();
                self.limitations.push(format!(
                    "the {} after {:.1} s: it had carried {bound}",
                    planned.load.name(),
                    elapsed.as_secs()
                ));
                break;
            }
            let round_trips = self.round_trips();
            let last_rtt = round_trips.map(|[_, last]| last);
            let rates = loads.rates(now, last_rtt);
            if let Some(carrier) = &self.carrier {
                let intervals = elapsed.as_ns() / self.options.plan.interval.as_ns().max(1);
                let stood = loads.standing(now);
                // A queue that a shaper drains is gone by then, or becomes shorter.
                let stays = elapsed >= planned.lasts / 2 && stays(stood);
                let wanted = Both::of(|way| {
                    let rtt = match self.options.is_shaped[way] && !stays {
                        true => round_trips.map(|[least, _]| least),
                        false => stood[1],
                    };
                    self.flows.after(intervals as u64, rates[way], rtt)
                });
                loads.grow(carrier, (run, planned), wanted);
            }
            if elapsed >= planned.lasts * 3 / 10 {
                let known = loads
                    .since_ramp(now)
                    .filter(|_| elapsed >= planned.lasts / 2);
                self.learn(planned.load, known);
            }
            let Both { down, up } = rates;
            if let Some(prober) = &self.prober {
                prober
                    .rate_bps
                    .store(down.max(up).as_bps(), Ordering::Relaxed);
                let loaded = Both::of(|way| {
                    let rate = Both::new(down, up)[way];
                    self.carried[way].or((rate > Rate::ZERO).then_some(rate))
                });
                let slower = self.options.probing.slower(loaded);
                prober
                    .slower_bps
                    .store(slower.unwrap_or(Rate::ZERO).as_bps(), Ordering::Relaxed);
            }
            progress(&Progress {
                stage: number,
                stages: self.options.plan.stages.len(),
                load: planned.load,
                stack: planned.stack,
                elapsed,
                lasts: planned.lasts,
                flows: loads.open(),
                down,
                up,
                rtt: last_rtt,
            });
            tokio::time::sleep(TICK).await;
        }
        probing.inspect(JoinHandle::abort);
        if let Some(gone) = self.gone {
            info!(stage = run, how = ?gone.how, "server went away");
        }
        // What comes after the last sign of a server that went away tells nothing of the path.
        let end = match self.gone {
            Some(gone) => gone.at.max(begin),
            None => self.clock.now(),
        };
        self.end_apps(run, apps);
        let last_rtt = self.round_trips().map(|[_, last]| last);
        let Both { down, up } = loads.rates(self.clock.now(), last_rtt);
        info!(
            stage = run,
            load = planned.load.name(),
            took_s = end.since(begin).as_secs(),
            connections = loads.open(),
            down_bps = down.as_bps(),
            up_bps = up.as_bps(),
            rtt_ms = last_rtt.map(Delta::as_ms),
            "stage ends"
        );
        loads.end(end);
        let spent = before
            .zip(Ticks::now())
            .map(|(before, after)| after.since(&before));
        let (busy, stolen, own_cpus) = spent.unwrap_or_default();
        StageRun {
            load: planned.load,
            stack: planned.stack,
            begin,
            end,
            is_cut: end.since(begin) < planned.lasts / 2,
            host: HostLoad {
                busy,
                stolen,
                own_cpus,
                ..HostLoad::default()
            },
        }
    }
}

impl Test<'_> {
    /// What the line carries in the direction that is loaded alone, and sends datagrams as often as it allows.
    fn learn(&mut self, load: Load, known: Option<Both<Rate>>) {
        for direction in Direction::BOTH {
            if let (Some(rates), true) = (known, load == alone(direction)) {
                self.carried[direction] = Some(rates[direction]);
            }
        }
        if let Some(echoing) = &self.echoing {
            echoing.pace_at(self.options.probing.pace(self.carried));
        }
    }
}

fn is_of_last(at: Time, now: Time) -> bool {
    now.since(at) <= RATE_OVER
}

/// The queue that stands is no shorter than it was in the second before.
fn stays([before, last]: [Option<Delta>; 2]) -> bool {
    before.is_some() && last >= before
}

impl Loads {
    /// Begins connections until each loaded direction had so many.
    fn grow(&mut self, carrier: &Arc<Carrier>, (run, stage): (usize, Stage), wanted: Both<u16>) {
        for direction in Direction::BOTH {
            let of_direction = self
                .carriers
                .iter()
                .filter(|(flow, _)| flow.direction == direction);
            let had = of_direction.count();
            for _ in had..usize::from(wanted[direction]) {
                if stage.load.has(direction) {
                    self.carriers
                        .push(carrier.begin(run, direction, stage.stack));
                }
            }
        }
    }

    fn open(&self) -> usize {
        self.carriers
            .iter()
            .filter(|(flow, _)| flow.is_open())
            .count()
    }

    /// Over the last second.
    fn carried(&self) -> Both<Bytes> {
        Both::of(|direction| {
            let of_direction = self
                .carriers
                .iter()
                .filter(|(flow, _)| flow.direction == direction);
            of_direction
                .map(|(flow, _)| Bytes::new(flow.pace.bytes.load(Ordering::Relaxed)))
                .sum::<Bytes>()
        })
    }

    /// What starts and what fills buffers is no rate of the line. None when it is asked for the first time.
    fn since_ramp(&mut self, now: Time) -> Option<Both<Rate>> {
        let carried = self.carried();
        let (at, before) = *self.ramped.get_or_insert((now, carried));
        let lasted = now.since(at);
        (lasted > Delta::ZERO).then(|| {
            Both::of(|way| {
                (carried[way] - before[way])
                    .over(lasted)
                    .unwrap_or(Rate::ZERO)
            })
        })
    }

    /// The least round trips of the second before the last one, and of the last: of the path and the queue that stands on it.
    fn standing(&self, now: Time) -> [Option<Delta>; 2] {
        [false, true].map(|wanted| {
            let of = self.lately.iter();
            let of = of.filter(|(at, ..)| is_of_last(*at, now) == wanted);
            of.filter_map(|(_, _, rtt)| *rtt).min()
        })
    }

    fn rates(&mut self, now: Time, rtt: Option<Delta>) -> Both<Rate> {
        let carried = self.carried();
        self.lately.push_back((now, carried, rtt));
        while self
            .lately
            .front()
            .is_some_and(|(at, ..)| now.since(*at) > RATE_OVER * 2)
        {
            self.lately.pop_front();
        }
        let mut last = self.lately.iter().filter(|(at, ..)| is_of_last(*at, now));
        let (at, before) = match last.next() {
            Some((at, before, _)) => (*at, *before),
            None => (now, carried),
        };
        Both::of(|direction| {
            (carried[direction] - before[direction])
                .over(now.since(at))
                .unwrap_or(Rate::ZERO)
        })
    }

    /// All connections go at once: what they have not sent is thrown away.
    fn end(self, now: Time) {
        for (flow, task) in self.carriers {
            flow.end(now, None);
            task.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a queue stays whose round trips, each 100 ms, were these.
    fn stays_over(rtts: impl Iterator<Item = i64>) -> bool {
        let mut loads = Loads {
            carriers: Vec::new(),
            lately: VecDeque::new(),
            ramped: None,
        };
        let mut now = Time::from_ns(0);
        for ms in rtts {
            now += Delta::ms(100);
            loads.rates(now, Some(Delta::ms(ms)));
        }
        stays(loads.standing(now))
    }

    #[test]
    fn a_queue_that_is_drained_does_not_stay_and_one_that_nobody_drains_does() {
        // A tenth of the line's rate is left to drain it.
        assert!(!stays_over((0..30).map(|at| 900 - 10 * at)));
        assert!(stays_over((0..30).map(|_| 154)));
        assert!(stays_over((0..30).map(|at| 100 + at % 7)));
        // Nothing is known of the second before.
        assert!(!stays_over((0..9).map(|_| 154)));
    }
}
