//! The beds, each a scenario of the lab: two hops, the monitor between them, and for each client an access link of its own.
//!
//! ```text
//! server -- wan.down --> MONITOR --> queue and link --> access.down --> client
//! server <-- wan.up --- MONITOR <-- access.up <-- queue and link <-- radio <-- client
//! ```

use fastrand::Rng;
use std::fmt::Write;
use std::net::Ipv4Addr;
use unbloat_units::{Both, Bytes, Delta, Rate};

/// A bed that can be asked for by name.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    pub name: &'static str,
    /// What it is for, in one line.
    pub purpose: &'static str,
    make: fn(u64) -> Plan,
}

const fn named(name: &'static str, make: fn(u64) -> Plan, purpose: &'static str) -> Named {
    Named {
        name,
        purpose,
        make,
    }
}

/// Every bed.
pub const BEDS: &[Named] = &[
    named(
        "bulk",
        bulk,
        "CUBIC flows fill a 1 MB queue at 10 Mbit/s; tail drops only",
    ),
    named(
        "lossy",
        lossy,
        "random loss and reordering on both sides of the monitor",
    ),
    named(
        "steps",
        steps,
        "the rate steps every 500 ms between 4 and 24 Mbit/s",
    ),
    named(
        "ticks-1",
        |_| ticks(1),
        "clients whose TSval ticks every 1 ms",
    ),
    named(
        "ticks-4",
        |_| ticks(4),
        "clients whose TSval ticks every 4 ms",
    ),
    named(
        "ticks-10",
        |_| ticks(10),
        "clients whose TSval ticks every 10 ms",
    ),
    named(
        "promotion",
        promotion,
        "clients that go idle and wait for the radio",
    ),
    named(
        "rto",
        rto,
        "outages, stalls and deep queues: timeouts, real and spurious",
    ),
    named(
        "mix",
        mix,
        "95 clients browse, idle, get no answer and read through small windows",
    ),
    named(
        "upload",
        upload,
        "clients send through a 5 Mbit/s uplink with a 300 kB queue",
    ),
];

/// Flows begin so much later than the run: by then the log of the server's kernel is there.
pub(crate) const START: Delta = Delta::secs(3);
const STEP: Delta = Delta::ms(500);
/// Of rates, as long as the longest bed.
const STEPS: usize = 240;

/// A path and what runs over it.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    links: Vec<Link>,
    wan: Both<Way>,
    access: Both<Way>,
    pub(crate) radio: Option<Radio>,
    pub(crate) tick: Delta,
    flows: Vec<Flow>,
}

/// The access link of one client.
#[derive(Clone, Debug)]
struct Link {
    down: Vec<Rate>,
    up: Vec<Rate>,
    down_queue: Bytes,
    up_queue: Bytes,
    /// Nothing reaches the monitor on its way to this client.
    is_dark: bool,
}

/// What one direction of a stretch of path does to packets.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    delay: Delta,
    jitter: Delta,
    loss: f64,
    /// Share of packets that are held back, and for how long.
    hold: Option<(f64, Delta)>,
    /// Mean time between outages; they last for 80 to 900 ms and lose 97 % of packets.
    outages: Option<Delta>,
}

/// Promotion delays are uniform around the mean by 30 %.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Radio {
    promotion: Delta,
    pub(crate) tail: Delta,
}

/// Something that a client does.
#[derive(Clone, Debug)]
struct Flow {
    client: usize,
    app: String,
    start: Delta,
    congestion_control: &'static str,
    /// Further keys.
    keys: String,
}

impl Plan {
    /// That of the bed of that name.
    pub(crate) fn named(name: &str, seed: u64) -> Option<Plan> {
        let found = BEDS.iter().find(|bed| bed.name == name)?;
        Some((found.make)(seed))
    }

    /// The longest way from the server to the monitor.
    pub(crate) fn to_monitor(&self) -> Delta {
        let Way {
            delay,
            jitter,
            hold,
            ..
        } = self.wan.down;
        delay + jitter + hold.map_or(Delta::ZERO, |(_, hold)| hold)
    }

    /// Changes of each client's downlink, as times from the run's zero.
    pub(crate) fn rates(&self) -> impl Iterator<Item = (Ipv4Addr, Delta, Rate)> {
        let links = self.links.iter().zip(0..);
        links.flat_map(|(link, client)| {
            let steps = link.down.iter().zip(0..);
            steps.map(move |(rate, step)| (client_address(client), STEP * step, *rate))
        })
    }

    /// The scenario, for flows that go on for so long.
    pub(crate) fn text(&self, name: &str, length: Delta, seed: u64) -> String {
        let duration = (START + length).as_secs();
        let mut text =
            format!("[scenario]\nname = {name:?}\nduration = \"{duration} s\"\nseed = {seed}\n");
        // Nobody uses these, but what all paths have in common is by what the lab is judged.
        let Plan { wan, access, .. } = self;
        for (direction, hops) in [
            ("down", [wan.down, access.down]),
            ("up", [access.up, wan.up]),
        ] {
            for Way { delay, .. } in hops {
                let delay = delay.as_ms();
                text += &format!("[[link.{direction}.hop]]\ndelay = \"{delay} ms\"\n");
            }
        }
        for (link, client) in self.links.iter().zip(0..) {
            self.write_link(&mut text, link, client);
        }
        for flow in &self.flows {
            self.write_flow(&mut text, flow);
        }
        text
    }

    fn write_link(&self, text: &mut String, link: &Link, client: usize) {
        let Plan { wan, access, .. } = self;
        let key = format!("link.clients.c{client}");
        let to_monitor = Way {
            loss: if link.is_dark { 1.0 } else { wan.down.loss },
            ..wan.down
        };
        if let Some(Radio { promotion, tail }) = self.radio {
            let [least, most] = [7, 13].map(|tenths| promotion.as_ms() * f64::from(tenths) / 10.0);
            let tail = tail.as_secs();
            text.push_str(&format!(
                "[{key}.rrc]\npromotion_min = \"{least} ms\"\npromotion_max = \"{most} ms\"\n\
                 tail = \"{tail} s\"\npaging = \"1 ms\"\ndrx = false\n"
            ));
        }
        let [down, up] = [
            line(&link.down, link.down_queue),
            line(&link.up, link.up_queue),
        ];
        for (direction, hops) in [
            ("down", [to_monitor.keys(), down + &access.down.keys()]),
            ("up", [up + &access.up.keys(), wan.up.keys()]),
        ] {
            for hop in hops {
                text.push_str(&format!("[[{key}.{direction}.hop]]\n{hop}"));
            }
        }
    }

    fn write_flow(&self, text: &mut String, flow: &Flow) {
        let Flow {
            client,
            app,
            congestion_control,
            keys,
            ..
        } = flow;
        let start = (START + flow.start).as_secs();
        let tick = self.tick.as_ms();
        text.push_str(&format!(
            "[[flow]]\nclient = \"c{client}\"\napp = {app}\nstart = \"{start} s\"\ncc = \"{congestion_control}\"\n{keys}"
        ));
        if self.tick > Delta::ms(1) {
            text.push_str(&format!("[flow.up]\ntimestamp_tick = \"{tick} ms\"\n"));
        }
    }
}

/// The address that the lab gives to a client.
pub(crate) fn client_address(index: usize) -> Ipv4Addr {
    let [.., high, low] = (index as u32 + 1).to_be_bytes();
    Ipv4Addr::new(10, 45, high, low)
}

/// Whether an address is a client's.
pub(crate) fn is_client(address: Ipv4Addr) -> bool {
    address.octets()[..2] == [10, 45]
}

fn line(rates: &[Rate], queue: Bytes) -> String {
    let bps = |rate: &Rate| format!("\"{} bit/s\"", rate.as_bps());
    let rate = match rates {
        [only] => format!("rate = {}", bps(only)),
        several => {
            let span = STEP.as_ms();
            let steps = several
                .iter()
                .map(|rate| format!("{{ span = \"{span} ms\", rate = {} }}", bps(rate)));
            format!("steps = [{}]", steps.collect::<Vec<_>>().join(", "))
        }
    };
    let queue = queue.as_u64();
    format!("{rate}\nqueue = {{ kind = \"droptail\", limit = \"{queue} B\" }}\n")
}

impl Way {
    fn of(ms: i64) -> Way {
        Way {
            delay: Delta::ms(ms),
            ..Way::default()
        }
    }

    fn keys(&self) -> String {
        let mut keys = String::new();
        let mut key = |text: String| writeln!(keys, "{text}").expect("a string takes all");
        if let Some(every) = self.outages {
            let every = every.as_secs();
            key(format!(
                "outages = {{ every = \"{every} s\", shortest = \"80 ms\", longest = \"900 ms\", loss = 0.97 }}"
            ));
        }
        if self.loss > 0.0 {
            key(format!("loss = {}", self.loss));
        }
        for (name, span) in [("delay", self.delay), ("jitter", self.jitter)] {
            if span > Delta::ZERO {
                key(format!("{name} = \"{} ms\"", span.as_ms()));
            }
        }
        if let Some((share, hold)) = self.hold {
            let hold = hold.as_ms();
            key(format!(
                "hold = {{ share = {share}, delay = \"{hold} ms\" }}"
            ));
        }
        keys
    }
}

fn steady(down: Rate, down_queue: u64) -> Link {
    Link {
        down: vec![down],
        up: vec![Rate::mbps(20)],
        down_queue: Bytes::new(down_queue),
        up_queue: Bytes::new(500_000),
        is_dark: false,
    }
}

/// 20 ms from server to monitor and 15 ms from there to the client, nothing else.
fn plain(links: Vec<Link>) -> Plan {
    let both = |ms| Both {
        down: Way::of(ms),
        up: Way::of(ms),
    };
    Plan {
        links,
        wan: both(20),
        access: both(15),
        radio: None,
        tick: Delta::ms(1),
        flows: Vec::new(),
    }
}

impl Plan {
    /// Gives each client transfers, so many at once.
    fn transfers(
        mut self,
        at_once: usize,
        direction: &str,
        bytes: u64,
        congestion_control: &'static str,
    ) -> Plan {
        for client in 0..self.links.len() {
            for nth in 0..at_once {
                self.flows.push(Flow {
                    client,
                    app: format!(
                        "{{ kind = \"transfers\", direction = \"{direction}\", size = \"{bytes} B\" }}"
                    ),
                    start: Delta::ms(700) * nth as i64,
                    congestion_control,
                    keys: String::new(),
                });
            }
        }
        self
    }

    fn downloads(self, at_once: usize, bytes: u64, congestion_control: &'static str) -> Plan {
        self.transfers(at_once, "down", bytes, congestion_control)
    }

    fn uploads(self, at_once: usize, bytes: u64) -> Plan {
        self.transfers(at_once, "up", bytes, "cubic")
    }
}

fn bulk(_: u64) -> Plan {
    plain(vec![steady(Rate::mbps(10), 1_000_000); 2]).downloads(3, 12_000_000, "cubic")
}

fn lossy(_: u64) -> Plan {
    let mut plan = plain(vec![steady(Rate::mbps(12), 400_000); 4]);
    plan.wan.down.loss = 0.004;
    plan.wan.down.hold = Some((0.004, Delta::ms(4)));
    plan.wan.down.jitter = Delta::ms(2);
    plan.access.down.loss = 0.004;
    plan.access.down.hold = Some((0.002, Delta::ms(4)));
    plan.access.up.loss = 0.002;
    plan.wan.up.loss = 0.001;
    plan.downloads(2, 2_000_000, "cubic")
        .downloads(1, 2_000_000, "newreno")
        .downloads(1, 4_000_000, "bbr")
        .uploads(1, 1_000_000)
}

fn steps(seed: u64) -> Plan {
    let mut rng = Rng::with_seed(seed);
    let links = (0..3).map(|_| Link {
        down: (0..STEPS)
            .map(|_| Rate::kbps(rng.u64(4_000..=24_000)))
            .collect(),
        ..steady(Rate::mbps(12), 800_000)
    });
    plain(links.collect()).downloads(1, 20_000_000, "cubic")
}

fn ticks(ms: i64) -> Plan {
    let plan = plain(vec![steady(Rate::mbps(8), 400_000); 4])
        .downloads(1, 6_000_000, "cubic")
        .downloads(2, 300_000, "cubic");
    Plan {
        tick: Delta::ms(ms),
        ..plan
    }
}

fn promotion(_: u64) -> Plan {
    let mut plan = plain(vec![steady(Rate::mbps(20), 400_000); 60]);
    plan.radio = Some(Radio {
        promotion: Delta::ms(400),
        tail: Delta::secs(2),
    });
    for client in 0..plan.links.len() {
        let silences = "silent = 0.5, silence_min = \"2.1 s\", silence_max = \"5 s\"";
        plan.flows.push(Flow {
            client,
            app: format!("{{ kind = \"browse\", beside = 0, big = 0, {silences} }}"),
            start: Delta::ZERO,
            congestion_control: "cubic",
            keys: String::new(),
        });
    }
    plan
}

fn rto(seed: u64) -> Plan {
    let mut rng = Rng::with_seed(seed);
    let links = (0..8).map(|_| Link {
        down: stalling_rates(&mut rng),
        ..steady(Rate::mbps(8), 300_000)
    });
    let mut plan = plain(links.collect());
    plan.access.down.loss = 0.002;
    plan.access.down.outages = Some(Delta::secs(6));
    plan.downloads(1, 4_000_000, "cubic")
        .downloads(1, 400_000, "newreno")
}

/// Mostly 4-12 Mbit/s; one step in twelve crawls or stands still for 0.5 to 1.5 s.
fn stalling_rates(rng: &mut Rng) -> Vec<Rate> {
    let mut rates = Vec::new();
    while rates.len() < STEPS {
        rates.push(Rate::kbps(rng.u64(4_000..=12_000)));
        if rng.f64() < 1.0 / 12.0 {
            let slow = match rng.bool() {
                true => Rate::ZERO,
                false => Rate::kbps(150),
            };
            rates.extend(vec![slow; rng.usize(1..=3)]);
        }
    }
    rates
}

/// Of 95 clients: nobody hears from the server.
const DARK: usize = 4;
/// These ask in short portions, so that the application is the limit.
const PACED: usize = 9;

fn mix(seed: u64) -> Plan {
    let mut rng = Rng::with_seed(seed);
    let links = (0..95).map(|client| Link {
        down: wandering_rates(&mut rng),
        up: vec![Rate::mbps(8)],
        is_dark: client < DARK,
        ..steady(Rate::mbps(25), 400_000)
    });
    let mut plan = plain(links.collect());
    plan.wan.down.jitter = Delta::ms(2);
    plan.wan.down.hold = Some((0.000_3, Delta::ms(3)));
    plan.wan.down.loss = 0.000_2;
    plan.access.down.loss = 0.000_3;
    plan.radio = Some(Radio {
        promotion: Delta::ms(400),
        tail: Delta::secs(10),
    });
    for client in 0..plan.links.len() {
        let silent = if rng.f64() < 0.2 { 0.5 } else { 0.0 };
        let app = match client {
            ..DARK => "{ kind = \"web\", every = \"2 s\" }".to_owned(),
            _ if client < DARK + PACED => {
                "{ kind = \"ranges\", size = \"64 KiB\", every = \"50 ms\" }".to_owned()
            }
            _ => format!("{{ kind = \"browse\", silent = {silent} }}"),
        };
        let window = [8, 16, 64][rng.usize(..3)];
        let keys = match rng.f64() < 0.15 {
            true => {
                format!("receive_window = {{ kind = \"static\", window = \"{window} KiB\" }}\n")
            }
            false => String::new(),
        };
        plan.flows.push(Flow {
            client,
            app,
            start: Delta::ZERO,
            congestion_control: if rng.f64() < 0.15 { "bbr" } else { "cubic" },
            keys,
        });
    }
    plan
}

/// A random walk around a client's own mean of 12.5 to 37.5 Mbit/s, never beyond twice or an eighth of it.
fn wandering_rates(rng: &mut Rng) -> Vec<Rate> {
    let mean = 25e6 * (0.5 + rng.f64());
    let mut bps = mean;
    let walk = (0..STEPS).map(|_| {
        let factor = (0.3 * (2.0 * rng.f64() - 1.0)).exp();
        bps = (bps * factor).clamp(mean / 8.0, mean * 2.0);
        Rate::from_bps_f64(bps)
    });
    walk.collect()
}

fn upload(_: u64) -> Plan {
    let link = Link {
        up: vec![Rate::mbps(5)],
        up_queue: Bytes::new(300_000),
        ..steady(Rate::mbps(20), 400_000)
    };
    let mut plan = plain(vec![link; 3]);
    plan.access.up.loss = 0.001;
    plan.wan.up.loss = 0.001;
    plan.uploads(2, 5_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_experiment::scenario::{build, toml::Node};

    #[test]
    fn every_bed_is_a_scenario_and_the_seed_decides_its_rates() {
        for Named { name, .. } in BEDS {
            let text = |seed| {
                Plan::named(name, seed)
                    .unwrap()
                    .text(name, Delta::secs(9), 1)
            };
            let experiment = build(&Node::parse(&text(1)).unwrap(), &|_| Err("no file".into()));
            let experiment = experiment.unwrap();
            assert_eq!((experiment.down.len(), experiment.up.len()), (2, 2));
            assert_eq!(experiment.duration, Delta::secs(9) + START);
            assert!(!experiment.flows.is_empty());
            let is_random = ["steps", "rto", "mix"].contains(name);
            assert_eq!(text(1) != text(2), is_random, "{name}");
            assert_eq!(text(1), text(1));
        }
        assert!(Plan::named("none", 1).is_none());
    }

    #[test]
    fn rates_are_those_of_the_scenario_one_step_after_the_other() {
        let plan = Plan::named("steps", 1).unwrap();
        let rates: Vec<_> = plan.rates().collect();
        assert_eq!(rates.len(), 3 * STEPS);
        let (client, after, _) = rates[STEPS + 2];
        assert_eq!((client, after), ([10, 45, 0, 2].into(), Delta::secs(1)));
    }
}
