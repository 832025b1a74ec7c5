//! Our disciplines against Linux' own code, compiled and run over the same arrivals: the logs in
//! `tests/vectors/` (how they came about is told there). No tolerance: the same drops and marks at
//! the same nanosecond, and the same packets sent.

use fastrand::Rng;
use std::collections::BTreeSet;
use std::fmt::Write;
use unbloat_qdisc::{
    AnyQueue, Config, Context, Dscp, Ecn, Event, FlowHash, Host, IpLen, Observer, Packet, PureAck,
    Queue, Reason,
    discipline::{cake, dualpi2, fq_codel, pie, red},
};
use unbloat_units::{Bytes, Delta, Rate, Seq, Time};

/// The arrivals that a vector was made with.
struct Scenario {
    seed: u64,
    packets: u32,
    rate: Rate,
    mean_gap: Delta,
    flows: u32,
    ect0_percent: u32,
    ect1_percent: u32,
    /// Shorter packets are pure ACKs.
    acks_below: u32,
}

impl Scenario {
    const fn new(seed: u64, mean_gap: Delta, flows: u32, ect0_percent: u32) -> Scenario {
        Scenario {
            seed,
            packets: 6_000,
            rate: Rate::mbps(10),
            mean_gap,
            flows,
            ect0_percent,
            ect1_percent: 0,
            acks_below: 100,
        }
    }

    fn arrivals(&self) -> Vec<(Time, Packet)> {
        let mut state = self.seed;
        let mut draw = |below: u32| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32 % below
        };
        let mut at = Time::from_ns(0);
        (0..self.packets)
            .map(|k| {
                let slow = if (k / 500) % 3 == 2 { 3 } else { 1 };
                let span = self.mean_gap.as_ns() as u32 * 2 * slow;
                at += Delta::ns(i64::from(draw(span)));
                let flow = draw(self.flows);
                let len = if draw(4) == 0 { 52 + draw(600) } else { 1_500 };
                let mut packet = Packet::new(k, IpLen::new(len), FlowHash(flow));
                let kind = draw(100);
                packet.ecn = if kind < self.ect0_percent {
                    Ecn::Ect0
                } else if kind < self.ect0_percent + self.ect1_percent {
                    Ecn::Ect1
                } else {
                    Ecn::NotEct
                };
                packet.source = Host(flow % 7);
                packet.destination = Host(flow % 5);
                packet.dscp = Dscp((flow % 64) as u8);
                packet.pure_ack = (len < self.acks_below).then_some(PureAck {
                    ack: Seq::new(k * 100),
                    sacked: if k % 3 == 0 { k } else { 0 },
                    is_special: k % 11 == 0,
                });
                (at, packet)
            })
            .collect()
    }
}

/// Writes events as the vectors have them.
#[derive(Default)]
struct Log {
    lines: String,
    reasons: BTreeSet<Reason>,
}

impl Observer for Log {
    fn event(&mut self, now: Time, event: Event) {
        let (kind, packet, reason) = match event {
            Event::Dropped { packet, reason } => ('x', packet, reason),
            Event::Marked { packet, reason } => ('m', packet, reason),
        };
        self.reasons.insert(reason);
        writeln!(self.lines, "{kind} {} {}", now.as_ns(), packet.handle)
            .expect("a string takes all");
    }
}

fn log_of(queue: &mut AnyQueue, scenario: &Scenario) -> Log {
    let mut rng = Rng::with_seed(scenario.seed);
    let mut log = Log::default();
    let mut arrivals = scenario.arrivals().into_iter().peekable();
    let (mut now, mut idle_at) = (Time::from_ns(0), Time::from_ns(0));
    let (mut sent, mut sum) = (0_u64, 0xcbf2_9ce4_8422_2325_u64);
    loop {
        let due = queue.ready_at(now).map(|ready| ready.max(idle_at).max(now));
        let arrives = arrivals.next_if(|(at, _)| due.is_none_or(|due| *at <= due));
        let mut cx = Context {
            rng: &mut rng,
            observer: &mut log,
        };
        if let Some((at, packet)) = arrives {
            now = at;
            queue.enqueue(now, packet, &mut cx);
        } else if let Some(due) = due {
            now = due;
            let Some(packet) = queue.dequeue(now, &mut cx) else {
                continue;
            };
            let bits = u64::from(packet.len.as_u32()) * 8_000_000_000;
            idle_at = now + Delta::ns((bits / scenario.rate.as_bps()) as i64);
            sent += 1;
            for word in [now.as_ns() as u64, u64::from(packet.handle)] {
                sum = (sum ^ word).wrapping_mul(0x100_0000_01b3);
            }
        } else {
            writeln!(log.lines, "= {sent} {sum}").expect("a string takes all");
            return log;
        }
    }
}

/// Fails at the first line that differs; what the run reached.
#[track_caller]
fn agrees(config: &Config, scenario: &Scenario, linux: &str) -> Vec<Reason> {
    let Log { lines, reasons } = log_of(&mut config.build(), scenario);
    for (number, (our, their)) in lines.lines().zip(linux.lines()).enumerate() {
        assert_eq!(our, their, "line {}: ours, Linux'", number + 1);
    }
    assert_eq!(lines.lines().count(), linux.lines().count(), "lines");
    reasons.into_iter().collect()
}

fn codel(ecn: bool, limit_packets: u32) -> Config {
    let mut params = unbloat_qdisc::discipline::codel::Params::default();
    params.law.ecn = ecn;
    params.limit_packets = limit_packets;
    Config::Codel(params)
}

fn fq_codel(ecn: bool, limit_packets: u32) -> Config {
    let mut params = fq_codel::Params {
        limit_packets,
        ..fq_codel::Params::default()
    };
    params.law.ecn = ecn;
    Config::FqCodel(params)
}

#[test]
fn codel_drops_what_linux_drops() {
    let scenario = Scenario::new(1, Delta::us(800), 5, 0);
    agrees(
        &codel(false, 1_000),
        &scenario,
        include_str!("vectors/codel.txt"),
    );
}

#[test]
fn codel_with_ecn_and_a_full_queue_marks_and_drops_what_linux_does() {
    let scenario = Scenario::new(2, Delta::us(600), 5, 60);
    agrees(
        &codel(true, 100),
        &scenario,
        include_str!("vectors/codel_ecn.txt"),
    );
}

#[test]
fn fq_codel_drops_what_linux_drops() {
    let scenario = Scenario::new(3, Delta::us(700), 20, 0);
    agrees(
        &fq_codel(false, 10_240),
        &scenario,
        include_str!("vectors/fq_codel.txt"),
    );
}

#[test]
fn fq_codel_with_ecn_relieves_the_flow_that_linux_relieves() {
    let scenario = Scenario::new(4, Delta::us(600), 40, 60);
    let reached = agrees(
        &fq_codel(true, 150),
        &scenario,
        include_str!("vectors/fq_codel_ecn.txt"),
    );
    assert_eq!(reached, [Reason::Overflow, Reason::Sojourn]);
}

#[test]
fn fq_codel_near_balance_serves_new_and_old_flows_in_the_order_of_linux() {
    let scenario = Scenario::new(5, Delta::us(850), 3, 50);
    agrees(
        &fq_codel(true, 10_240),
        &scenario,
        include_str!("vectors/fq_codel_few.txt"),
    );
}

#[test]
fn pie_draws_and_drops_as_linux_does() {
    let scenario = Scenario::new(6, Delta::us(700), 5, 0);
    agrees(
        &Config::Pie(pie::Params::default()),
        &scenario,
        include_str!("vectors/pie.txt"),
    );
}

#[test]
fn pie_with_ecn_and_byte_mode_marks_as_linux_does() {
    let scenario = Scenario::new(7, Delta::us(880), 5, 60);
    let params = pie::Params {
        ecn: true,
        byte_mode: true,
        ..pie::Params::default()
    };
    agrees(
        &Config::Pie(params),
        &scenario,
        include_str!("vectors/pie_ecn.txt"),
    );
}

#[test]
fn red_draws_and_drops_as_linux_does() {
    let scenario = Scenario::new(8, Delta::us(800), 5, 0);
    let reached = agrees(
        &Config::Red(red::Params::default()),
        &scenario,
        include_str!("vectors/red.txt"),
    );
    assert_eq!(reached, [Reason::Forced, Reason::Early]);
}

#[test]
fn adaptive_red_with_ecn_moves_its_probability_as_linux_does() {
    let scenario = Scenario::new(9, Delta::us(700), 5, 60);
    let params = red::Params {
        ecn: true,
        adaptive: true,
        ..red::Params::default()
    };
    let linux = include_str!("vectors/red_adaptive_ecn.txt");
    agrees(&Config::Red(params), &scenario, linux);
}

/// The shaper decides; the device below it is fast.
fn shaped(seed: u64, mean_gap: Delta, flows: u32, ect0_percent: u32) -> Scenario {
    Scenario {
        rate: Rate::mbps(1_000),
        ..Scenario::new(seed, mean_gap, flows, ect0_percent)
    }
}

fn cake(rate: Rate) -> cake::Params {
    cake::Params {
        rate: Some(rate),
        ..cake::Params::default()
    }
}

#[test]
fn cake_shapes_and_drops_as_linux_does() {
    let params = cake::Params {
        diffserv: cake::Diffserv::Besteffort,
        ..cake(Rate::mbps(10))
    };
    let scenario = shaped(10, Delta::us(800), 5, 0);
    agrees(
        &Config::Cake(params),
        &scenario,
        include_str!("vectors/cake.txt"),
    );
}

#[test]
fn cake_with_three_tins_marks_as_linux_does() {
    let scenario = shaped(11, Delta::us(700), 40, 60);
    let linux = include_str!("vectors/cake_diffserv3_ecn.txt");
    agrees(&Config::Cake(cake(Rate::mbps(10))), &scenario, linux);
}

#[test]
fn cake_with_eight_tins_atm_cells_and_ack_filter_does_what_linux_does() {
    let params = cake::Params {
        diffserv: cake::Diffserv::Diffserv8,
        isolation: cake::Isolation::DualSource,
        overhead: Some(44),
        cells: unbloat_units::Cells::Atm,
        ack_filter: cake::AckFilter::Conservative,
        ..cake(Rate::mbps(12))
    };
    let scenario = Scenario {
        acks_below: 652,
        ..shaped(12, Delta::us(700), 9, 30)
    };
    let linux = include_str!("vectors/cake_diffserv8_atm_acks.txt");
    let reached = agrees(&Config::Cake(params), &scenario, linux);
    assert_eq!(reached, [Reason::Sojourn, Reason::AckFilter]);
}

#[test]
fn cake_behind_the_bottleneck_with_little_memory_cuts_whom_linux_cuts() {
    let params = cake::Params {
        diffserv: cake::Diffserv::Diffserv4,
        isolation: cake::Isolation::DualDestination,
        overhead: Some(30),
        cells: unbloat_units::Cells::Ptm,
        ack_filter: cake::AckFilter::Aggressive,
        memory_limit: Some(Bytes::new(200_000)),
        ingress: true,
        ..cake(Rate::mbps(8))
    };
    let scenario = shaped(13, Delta::us(600), 30, 30);
    let linux = include_str!("vectors/cake_diffserv4_memory_ingress.txt");
    let reached = agrees(&Config::Cake(params), &scenario, linux);
    assert_eq!(
        reached,
        [
            Reason::Overflow,
            Reason::Sojourn,
            Reason::Blue,
            Reason::AckFilter
        ]
    );
}

#[test]
fn cake_without_a_shaper_balances_its_tins_as_linux_does() {
    let scenario = Scenario::new(14, Delta::us(700), 40, 30);
    let linux = include_str!("vectors/cake_unlimited.txt");
    agrees(&Config::Cake(cake::Params::default()), &scenario, linux);
}

#[test]
fn cake_under_flows_that_do_not_respond_draws_blue_as_linux_does() {
    let params = cake::Params {
        diffserv: cake::Diffserv::Besteffort,
        isolation: cake::Isolation::Flows,
        memory_limit: Some(Bytes::new(60_000)),
        ..cake(Rate::mbps(10))
    };
    let scenario = shaped(15, Delta::us(400), 3, 50);
    let reached = agrees(
        &Config::Cake(params),
        &scenario,
        include_str!("vectors/cake_blue.txt"),
    );
    assert_eq!(reached, [Reason::Overflow, Reason::Sojourn, Reason::Blue]);
}

fn l4s(seed: u64, mean_gap: Delta, ect0_percent: u32, ect1_percent: u32) -> Scenario {
    Scenario {
        ect1_percent,
        ..Scenario::new(seed, mean_gap, 10, ect0_percent)
    }
}

#[test]
fn dualpi2_couples_its_queues_as_linux_does() {
    let scenario = l4s(16, Delta::us(800), 30, 30);
    let config = Config::DualPi2(dualpi2::Params::default());
    agrees(&config, &scenario, include_str!("vectors/dualpi2.txt"));
}

#[test]
fn dualpi2_on_overload_marks_or_drops_l4s_as_linux_does() {
    let marking = dualpi2::Params {
        drop_on_overload: false,
        limit_packets: 300,
        ..dualpi2::Params::default()
    };
    let scenario = l4s(17, Delta::us(600), 20, 60);
    let linux = include_str!("vectors/dualpi2_overload.txt");
    agrees(&Config::DualPi2(marking), &scenario, linux);
    let dropping = Config::DualPi2(dualpi2::Params::default());
    let heavier = l4s(18, Delta::us(500), 20, 70);
    let linux_dropping = include_str!("vectors/dualpi2_drop_on_overload.txt");
    agrees(&dropping, &heavier, linux_dropping);
}
