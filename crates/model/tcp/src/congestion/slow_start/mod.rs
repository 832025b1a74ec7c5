//! How slow start ends before loss: chosen by NewReno and CUBIC.

mod hystart;
mod hystartpp;

use super::{Flow, State};
use hystart::HyStart;
use hystartpp::HyStartPlusPlus;
use serde::Deserialize;

/// Which detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlowStart {
    /// By loss alone.
    Standard,
    /// HyStart as in Linux.
    #[serde(rename = "hystart")]
    HyStart,
    /// RFC 9406.
    #[serde(rename = "hystart_plus_plus")]
    HyStartPlusPlus,
}

#[derive(Clone, Debug)]
pub(super) enum Detector {
    Standard,
    HyStart(HyStart),
    HyStartPlusPlus(HyStartPlusPlus),
}

impl Detector {
    pub(super) fn new(which: SlowStart) -> Detector {
        match which {
            SlowStart::Standard => Detector::Standard,
            SlowStart::HyStart => Detector::HyStart(HyStart::default()),
            SlowStart::HyStartPlusPlus => Detector::HyStartPlusPlus(HyStartPlusPlus::default()),
        }
    }

    pub(super) fn reset(&mut self, flow: &Flow) {
        match self {
            Detector::Standard => {}
            Detector::HyStart(hystart) => hystart.reset(flow),
            Detector::HyStartPlusPlus(hystart) => hystart.reset(flow),
        }
    }

    /// Takes in a sample; may end slow start.
    pub(super) fn acked(&mut self, flow: &mut Flow, rtt_us: u32, min_rtt_us: u32) {
        match self {
            Detector::Standard => {}
            Detector::HyStart(hystart) => hystart.acked(flow, rtt_us, min_rtt_us),
            // RFC 9406 section 4.3: only the initial slow start.
            Detector::HyStartPlusPlus(hystart) => {
                if flow.state == State::Open && flow.ssthresh == super::INFINITE_SSTHRESH {
                    hystart.acked(flow, rtt_us);
                }
            }
        }
    }

    /// Grows the window; what is left after the threshold is returned.
    pub(super) fn grow(&mut self, flow: &mut Flow, acked: u32) -> u32 {
        match self {
            Detector::HyStartPlusPlus(hystart) => {
                let allowed = hystart.allowed(flow, acked);
                flow.slow_start(allowed)
            }
            _ => flow.slow_start(acked),
        }
    }
}
