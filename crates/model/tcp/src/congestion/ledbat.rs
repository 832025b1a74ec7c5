//! LEDBAT++ at the sender: `crate::ledbat` says what of it.

use super::{AckSample, Congestion, Flow, State};
use crate::ledbat::Controller;

pub use crate::ledbat::Params;

#[derive(Clone, Debug)]
pub struct Ledbat {
    params: Params,
    controller: Controller,
}

impl Ledbat {
    pub fn new(params: Params) -> Ledbat {
        Ledbat {
            controller: Controller::new(params.clone(), 0, 1),
            params,
        }
    }

    fn window(&self, flow: &Flow) -> u32 {
        (self.controller.window() / u64::from(flow.mss)).max(2) as u32
    }
}

impl Congestion for Ledbat {
    fn init(&mut self, flow: &mut Flow) {
        let window = u64::from(flow.cwnd) * u64::from(flow.mss);
        self.controller = Controller::new(self.params.clone(), window, flow.mss);
    }

    fn ssthresh(&mut self, flow: &mut Flow) -> u32 {
        self.controller.lost(flow.now_us);
        self.window(flow)
    }

    fn avoid(&mut self, flow: &mut Flow, acked: u32) {
        let bytes = u64::from(acked) * u64::from(flow.mss);
        let is_used = flow.is_limited_by_cwnd();
        self.controller.delivered(flow.now_us, bytes, is_used);
        flow.cwnd = self.window(flow).min(flow.cwnd_clamp);
        // What slow start is, the controller knows.
        flow.ssthresh = flow.ssthresh.min(flow.cwnd);
    }

    fn set_state(&mut self, _flow: &mut Flow, state: State) {
        if state == State::Loss {
            self.controller.restart();
        }
    }

    fn acked(&mut self, flow: &mut Flow, sample: &AckSample) {
        if let Some(rtt_us) = sample.rtt_us {
            self.controller.sample(flow.now_us, rtt_us.max(1));
        }
    }
}
