//! A sender that a control is led through a course of events with.

use unbloat_tcp::congestion::{AckKind, AckSample, Congestion, CwndEvent, Flow, State};

/// Does to a control what the kernel's sender does at each event.
pub struct Replay<C> {
    pub control: C,
    pub flow: Flow,
}

impl<C: Congestion> Replay<C> {
    pub fn new(mut control: C, hz: u32) -> Replay<C> {
        let mut flow = Flow::new(1_448, 10, hz);
        flow.now_us = 1_000_000;
        flow.is_cwnd_limited = true;
        flow.last_sent = flow.jiffies();
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

    /// What, a and b are those of `vectors/README.md`.
    pub fn step(&mut self, what: &str, a: u32, b: u32) {
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

/// Replays the lines of a file of vectors; every step must end with the window and threshold in it.
pub fn replay(name: &str, control: impl Congestion, text: &str) {
    let mut replay = Replay::new(control, 250);
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
