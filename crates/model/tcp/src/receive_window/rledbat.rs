//! rLEDBAT: the receiver of a background transfer yields by its window.
//!
//! # References
//! RFC 9840; `crate::ledbat` for the control, with round-trip times by timestamps.
//!
//! # Where we differ
//! 1. Retransmissions are known from the segment; RFC 9840 section 4.3 infers them from timestamps.

use super::bounds;
use super::{Rule, View};
use crate::ledbat::Controller;
use unbloat_params::{Read, Settings, defaults};
use unbloat_units::Bytes;

defaults! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Params {
        pub control: crate::ledbat::Params = crate::ledbat::Params::default();
        pub initial: Bytes = Bytes::new(14_480);
        /// The window of flow control, which bounds the one of congestion control.
        pub max: Bytes = Bytes::mib(3);
    }
}

impl<S: Settings> Read<S> for Params {
    fn read(settings: &mut S) -> Result<Params, S::Error> {
        let default = Params::default();
        let (initial, max) = bounds(settings, default.initial, default.max)?;
        Ok(Params {
            control: Read::read(settings)?,
            initial,
            max,
        })
    }
}

#[derive(Clone, Debug)]
pub struct RLedbat {
    params: Params,
    controller: Option<Controller>,
    max: u32,
    /// Bytes of this round, to tell whether the window is used.
    round_us: u64,
    round_received: u64,
    is_used: bool,
}

impl RLedbat {
    pub fn new(params: Params) -> RLedbat {
        RLedbat {
            max: params.max.as_u64().min(1 << 30) as u32,
            controller: None,
            params,
            round_us: 0,
            round_received: 0,
            is_used: true,
        }
    }

    fn judge_use(&mut self, view: &View) {
        let round = u64::from(view.rtt_us8 >> 3);
        if round > 0 && view.now_us - self.round_us >= round {
            let received = view.received - self.round_received;
            self.is_used = 2 * received >= u64::from(self.window());
            self.round_us = view.now_us;
            self.round_received = view.received;
        }
    }
}

impl Rule for RLedbat {
    fn on_segment(&mut self, view: &View, bytes: u32) {
        self.judge_use(view);
        let is_used = self.is_used;
        let (control, initial) = (&self.params.control, self.params.initial.as_u64());
        let controller = self
            .controller
            .get_or_insert_with(|| Controller::new(control.clone(), initial, view.mss));
        if let Some(rtt_us) = view.rtt_us {
            controller.sample(view.now_us, rtt_us);
        }
        if view.is_retransmission {
            controller.lost(view.now_us);
        } else {
            controller.delivered(view.now_us, u64::from(bytes), is_used);
        }
    }

    fn window(&self) -> u32 {
        let initial = self.params.initial.as_u64();
        let window = self.controller.as_ref().map_or(initial, Controller::window);
        window.min(u64::from(self.max)) as u32
    }
}
