//! A control that runs elsewhere, as one of `unbloat-tcp`'s.

use super::machine::{Call, Machine};
use unbloat_tcp::congestion::{AckKind, AckSample, Congestion, CwndEvent, Flow, State};

pub(super) struct Foreign {
    machine: Box<dyn Machine>,
}

impl Foreign {
    pub(super) fn new(machine: impl Machine + 'static) -> Foreign {
        Foreign {
            machine: Box::new(machine),
        }
    }

    fn call(&mut self, flow: &mut Flow, hook: &str, first: u32, second: u32) -> u32 {
        let mut call = Call {
            snd_una: flow.snd_una as u32,
            snd_nxt: flow.snd_nxt as u32,
            cwnd: flow.cwnd,
            cwnd_cnt: flow.cwnd_cnt,
            cwnd_clamp: flow.cwnd_clamp,
            ssthresh: flow.ssthresh,
            prior_cwnd: flow.prior_cwnd,
            max_packets_out: flow.max_packets_out,
            mss: flow.mss,
            is_cwnd_limited: flow.is_cwnd_limited.into(),
            ca_state: flow.state as u32,
            jiffies: flow.jiffies(),
            hz: flow.hz,
            first,
            second,
            result: 0,
        };
        self.machine.call(hook, &mut call);
        flow.cwnd = call.cwnd;
        flow.cwnd_cnt = call.cwnd_cnt;
        flow.ssthresh = call.ssthresh;
        call.result
    }
}

impl Congestion for Foreign {
    fn init(&mut self, flow: &mut Flow) {
        self.call(flow, "init", 0, 0);
    }

    fn ssthresh(&mut self, flow: &mut Flow) -> u32 {
        self.call(flow, "ssthresh", 0, 0)
    }

    fn avoid(&mut self, flow: &mut Flow, acked: u32) {
        self.call(flow, "cong_avoid", 0, acked);
    }

    fn undo(&mut self, flow: &mut Flow) -> u32 {
        self.call(flow, "undo_cwnd", 0, 0)
    }

    fn set_state(&mut self, flow: &mut Flow, state: State) {
        self.call(flow, "set_state", state as u32, 0);
    }

    fn on_event(&mut self, flow: &mut Flow, event: CwndEvent) {
        self.call(flow, "cwnd_event", event as u32, 0);
    }

    fn on_ack(&mut self, flow: &mut Flow, kind: AckKind) {
        self.call(flow, "in_ack_event", kind.slow_path.into(), 0);
    }

    fn acked(&mut self, flow: &mut Flow, sample: &AckSample) {
        // Linux says -1 when there is no sample.
        let rtt_us = sample.rtt_us.unwrap_or(u32::MAX);
        self.call(flow, "pkts_acked", sample.segments, rtt_us);
    }
}
