//! Congestion controls against the kernel's own: `vectors/README.md` says how the files were made.

use unbloat_tcp::congestion::{
    AckKind, AckSample, AnyCongestion, Config, Congestion, CwndEvent, Flow, RateSample, State,
};

/// Does to a control what the kernel's sender does at each event.
struct Replay {
    control: AnyCongestion,
    flow: Flow,
}

impl Replay {
    fn new(name: &str) -> Replay {
        let mut flow = Flow::new(1_448, 10, 250);
        flow.now_us = 1_000_000;
        flow.is_cwnd_limited = true;
        flow.last_sent = flow.jiffies();
        let mut control = Config::named(name).expect("a known control").build();
        control.init(&mut flow);
        control.on_event(&mut flow, CwndEvent::TxStart);
        let mut replay = Replay { control, flow };
        replay.fill_window();
        replay
    }

    fn fill_window(&mut self) {
        let flow = &mut self.flow;
        flow.snd_nxt = flow.snd_una + u64::from(flow.cwnd) * u64::from(flow.mss);
        flow.packets_out = flow.cwnd;
        flow.last_sent = flow.jiffies();
    }

    fn set_state(&mut self, state: State) {
        self.control.set_state(&mut self.flow, state);
        self.flow.state = state;
    }

    fn measure(&mut self, segments: u32, rtt_us: u32, slow_path: bool) {
        self.flow.snd_una += u64::from(segments) * u64::from(self.flow.mss);
        self.flow.delivered += segments;
        let sample = AckSample {
            segments,
            rtt_us: Some(rtt_us),
        };
        self.control.acked(&mut self.flow, &sample);
        let kind = AckKind {
            slow_path,
            ece: false,
        };
        self.control.on_ack(&mut self.flow, kind);
    }

    fn ack(&mut self, segments: u32, rtt_us: u32, limited: bool) {
        let flow = &mut self.flow;
        flow.is_cwnd_limited = limited;
        flow.max_packets_out = if limited { flow.cwnd } else { flow.cwnd / 4 };
        flow.srtt_us8 = match flow.srtt_us8 {
            0 => rtt_us << 3,
            srtt => srtt - (srtt >> 3) + rtt_us,
        };
        self.measure(segments, rtt_us, false);
        self.control.avoid(&mut self.flow, segments);
        self.set_pacing_rate();
    }

    fn set_pacing_rate(&mut self) {
        let flow = &mut self.flow;
        let percent = if flow.cwnd < flow.ssthresh / 2 {
            200
        } else {
            120
        };
        let window = u64::from(flow.cwnd.max(flow.packets_out)) * u64::from(flow.mss);
        flow.pacing_rate = window * percent * 80_000 / u64::from(flow.srtt_us8);
    }

    fn reduce(&mut self) {
        self.flow.prior_cwnd = self.flow.cwnd;
        self.flow.ssthresh = self.control.ssthresh(&mut self.flow);
        self.flow.cwnd_cnt = 0;
    }

    fn step(&mut self, what: &str, a: u32, b: u32) {
        match what {
            "ack" => self.ack(a, b, true),
            "ack_unlimited" => self.ack(a, b, false),
            "loss" | "timeout" => return,
            "reduced" => {
                self.reduce();
                self.set_state(State::Recovery);
                return;
            }
            "recovering" => {
                self.measure(a, b, true);
                return;
            }
            "recovered" => {
                self.set_state(State::Open);
                self.flow.cwnd = self.flow.ssthresh;
                self.control
                    .on_event(&mut self.flow, CwndEvent::CompleteCwr);
            }
            "undone" => {
                self.flow.cwnd = self.flow.ssthresh;
                self.flow.cwnd = self.control.undo(&mut self.flow);
                self.flow.ssthresh = self.flow.ssthresh.max(a);
                self.set_state(State::Open);
            }
            "timed_out" => {
                self.reduce();
                self.control.on_event(&mut self.flow, CwndEvent::Loss);
                self.flow.cwnd = 1;
                self.set_state(State::Loss);
                self.flow.last_sent = self.flow.jiffies();
                return;
            }
            "reopened" => {
                self.flow.snd_una = self.flow.snd_nxt;
                self.set_state(State::Open);
            }
            "idle" => self.control.on_event(&mut self.flow, CwndEvent::TxStart),
            other => panic!("unknown event {other:?}"),
        }
        self.fill_window();
    }
}

fn replay(name: &str, text: &str) {
    let mut replay = Replay::new(name);
    let mut lines = 0;
    for (n, line) in text
        .lines()
        .enumerate()
        .filter(|(_, l)| !l.starts_with('#'))
    {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |i: usize| fields[i].parse::<u64>().expect("a number");
        replay.flow.now_us = number(0);
        replay.step(fields[1], number(2) as u32, number(3) as u32);
        let found = (u64::from(replay.flow.cwnd), u64::from(replay.flow.ssthresh));
        assert_eq!(
            found,
            (number(4), number(5)),
            "{name}, line {}: {line}",
            n + 1
        );
        lines += 1;
    }
    assert!(lines >= 1_000);
}

macro_rules! vectors {
    ($($test:ident: $name:literal,)*) => {
        $(#[test]
        fn $test() {
            replay($name, include_str!(concat!("../vectors/", $name, "-short.tsv")));
            replay($name, include_str!(concat!("../vectors/", $name, "-long.tsv")));
            replay($name, include_str!(concat!("../vectors/", $name, "-cycles.tsv")));
        })*
    };
}

vectors! {
    newreno_makes_every_step_of_the_kernel: "newreno",
    vegas_makes_every_step_of_the_kernel: "vegas",
    bic_makes_every_step_of_the_kernel: "bic",
    cubic_makes_every_step_of_the_kernel: "cubic",
    htcp_makes_every_step_of_the_kernel: "htcp",
    hstcp_makes_every_step_of_the_kernel: "hstcp",
    westwood_makes_every_step_of_the_kernel: "westwood",
}

/// The files for BBR hold, besides results, everything that the control is given or looks at.
#[test]
fn bbr_makes_every_step_of_the_kernel() {
    replay_bbr(include_str!("../vectors/bbr-short.tsv"), 40_000);
    replay_bbr(include_str!("../vectors/bbr-long.tsv"), 100_000);
}

fn replay_bbr(text: &str, min_rtt_us: u32) {
    let mut flow = Flow::new(1_448, 10, 250);
    flow.now_us = 1_000_000;
    flow.delivered_us = flow.now_us;
    flow.min_rtt_us = min_rtt_us;
    flow.srtt_us8 = flow.min_rtt_us << 3;
    let mut control = Config::named("bbr").expect("a known control").build();
    control.init(&mut flow);
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |i: usize| fields[i].parse::<i64>().expect("a number");
        let count = |i: usize| number(i) as u32;
        flow.now_us = number(0) as u64;
        if fields[1] == "timeout" {
            control.ssthresh(&mut flow);
            control.set_state(&mut flow, State::Loss);
            flow.state = State::Loss;
            flow.cwnd = 1;
        } else {
            control_by_line(&mut control, &mut flow, &count, &number);
        }
        let found = (flow.cwnd, flow.ssthresh, flow.pacing_rate);
        let expected = (count(15), count(16), number(17) as u64);
        assert_eq!(found, expected, "{line}");
    }
}

fn control_by_line(
    control: &mut AnyCongestion,
    flow: &mut Flow,
    count: &dyn Fn(usize) -> u32,
    number: &dyn Fn(usize) -> i64,
) {
    let state = [
        State::Open,
        State::Disorder,
        State::Cwr,
        State::Recovery,
        State::Loss,
    ];
    let state = state[count(6) as usize];
    if state == State::Recovery && flow.state == State::Open {
        control.ssthresh(flow);
    } else if state == State::Open && flow.state == State::Loss {
        control.set_state(flow, state);
    }
    flow.state = state;
    flow.delivered_us = number(1) as u64;
    flow.delivered = count(2);
    flow.lost = count(3);
    flow.packets_out = count(4);
    flow.next_send_ns = (flow.now_us + number(5) as u64) * 1_000;
    flow.srtt_us8 = flow.srtt_us8 - (flow.srtt_us8 >> 3) + count(10);
    if flow.app_limited > 0 && flow.delivered > flow.app_limited {
        flow.app_limited = 0;
    }
    let sample = RateSample {
        prior_delivered: count(7),
        delivered: Some(count(8)),
        interval_us: u32::try_from(number(9)).ok(),
        rtt_us: Some(count(10)),
        acked_sacked: count(11),
        losses: count(12),
        prior_in_flight: count(13),
        is_app_limited: count(14) != 0,
        ..RateSample::default()
    };
    control.control(flow, &sample);
}
