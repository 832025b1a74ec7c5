//! A pure control and a foreign one in step: whatever one does, the other must.

use super::foreign::Foreign;
use std::fmt::Debug;
use unbloat_tcp::congestion::{
    AckKind, AckSample, AnyCongestion, Congestion, CwndEvent, Flow, State,
};

pub(super) struct Pair {
    pure: AnyCongestion,
    foreign: Foreign,
    steps: usize,
}

impl Pair {
    pub(super) fn new(pure: AnyCongestion, foreign: Foreign) -> Pair {
        Pair {
            pure,
            foreign,
            steps: 0,
        }
    }

    fn both<R: PartialEq + Debug>(
        &mut self,
        flow: &mut Flow,
        hook: &str,
        call: impl Fn(&mut dyn Congestion, &mut Flow) -> R,
    ) -> R {
        let before = (flow.cwnd, flow.ssthresh, flow.cwnd_cnt);
        let mut other = flow.clone();
        let result = call(&mut self.pure, flow);
        let found = call(&mut self.foreign, &mut other);
        self.steps += 1;
        let at = format!(
            "call {}, {hook}, window, threshold and count {before:?}",
            self.steps
        );
        assert_eq!(found, result, "{at}");
        let seen = |of: &Flow| (of.cwnd, of.ssthresh, of.cwnd_cnt);
        assert_eq!(seen(&other), seen(flow), "{at}");
        result
    }
}

impl Congestion for Pair {
    fn init(&mut self, flow: &mut Flow) {
        self.both(flow, "init", |c, f| c.init(f));
    }

    fn ssthresh(&mut self, flow: &mut Flow) -> u32 {
        self.both(flow, "ssthresh", |c, f| c.ssthresh(f))
    }

    fn avoid(&mut self, flow: &mut Flow, acked: u32) {
        self.both(flow, "avoid", |c, f| c.avoid(f, acked));
    }

    fn undo(&mut self, flow: &mut Flow) -> u32 {
        self.both(flow, "undo", |c, f| c.undo(f))
    }

    fn set_state(&mut self, flow: &mut Flow, state: State) {
        self.both(flow, "set_state", |c, f| c.set_state(f, state));
    }

    fn on_event(&mut self, flow: &mut Flow, event: CwndEvent) {
        self.both(flow, "on_event", |c, f| c.on_event(f, event));
    }

    fn on_ack(&mut self, flow: &mut Flow, kind: AckKind) {
        self.both(flow, "on_ack", |c, f| c.on_ack(f, kind));
    }

    fn acked(&mut self, flow: &mut Flow, sample: &AckSample) {
        self.both(flow, "acked", |c, f| c.acked(f, sample));
    }
}
