//! Congestion controls: one file each, one line in the registry.
//!
//! The trait has the hooks of Linux's `tcp_congestion_ops`, because that is where most of them were
//! born and what they are compared with. Arithmetic is integer where the kernel's is: windows in
//! segments, times in microseconds or in jiffies of [`Flow::hz`].

mod flow;
mod registry;
mod sample;
mod slow_start;

pub mod bbr;
pub mod bbr3;
pub mod bic;
pub mod cubic;
pub mod cubic2009;
pub mod hstcp;
pub mod htcp;
pub mod ledbat;
pub mod newreno;
pub mod prague;
pub mod vegas;
pub mod westwood;

pub use flow::{Flow, INFINITE_SSTHRESH};
pub use registry::{AnyCongestion, Config, NAMES};
pub use sample::{AckSample, RateSample};
pub use slow_start::SlowStart;

/// Factors in 1/1024.
const PART: std::ops::RangeInclusive<u32> = 1..=1_023;

/// Where loss recovery stands (Linux `enum tcp_ca_state`), in the order of seriousness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Nothing unusual.
    #[default]
    Open,
    /// Duplicate ACKs or SACKs have been seen; maybe packets are only out of order.
    Disorder,
    /// The window is being reduced for a reason other than loss.
    Cwr,
    /// The window was reduced and lost segments are sent again.
    Recovery,
    /// The retransmission timer has expired.
    Loss,
}

/// Things that happen to a flow besides acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CwndEvent {
    /// The first transmission with nothing in flight.
    TxStart,
    /// The window is restarted after idle time (RFC 2861).
    CwndRestart,
    /// The end of a reduction.
    CompleteCwr,
    /// The retransmission timer has expired.
    Loss,
}

/// What an acknowledgement looked like, told before it is acted upon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckKind {
    /// Anything but a plain advance with the window unchanged.
    pub slow_path: bool,
    /// It reported congestion by ECN.
    pub ece: bool,
}

/// What a control asks of its sender, once, when it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Every acknowledgement goes to `control`, which sets window and pacing rate itself; the
    /// sender neither reduces nor grows the window.
    pub full_control: bool,
    /// Segments are to be paced at `Flow::pacing_rate`.
    pub pacing: bool,
    /// Rate samples are wanted, which cost memory for each segment in flight.
    pub rate_samples: bool,
    /// Segments are to be sent as ECT(1), and CE is to be counted exactly.
    pub l4s: bool,
}

/// A congestion control. Only `ssthresh` and one of `avoid` and `control` must be there.
pub trait Congestion {
    fn needs(&self) -> Needs {
        Needs::default()
    }

    fn init(&mut self, _flow: &mut Flow) {}

    /// The threshold after congestion.
    fn ssthresh(&mut self, flow: &mut Flow) -> u32;

    /// Grows the window after `acked` segments were delivered.
    fn avoid(&mut self, _flow: &mut Flow, _acked: u32) {}

    /// Sets window and pacing rate, for those with `full_control`.
    fn control(&mut self, _flow: &mut Flow, _sample: &RateSample) {}

    /// The window after a reduction that turned out not to be needed.
    fn undo(&mut self, flow: &mut Flow) -> u32 {
        flow.cwnd.max(flow.prior_cwnd)
    }

    /// Recovery is about to enter `state`; `flow.state` is the one before.
    fn set_state(&mut self, _flow: &mut Flow, _state: State) {}

    fn on_event(&mut self, _flow: &mut Flow, _event: CwndEvent) {}

    fn on_ack(&mut self, _flow: &mut Flow, _kind: AckKind) {}

    /// Segments were taken off the queue, with the round-trip time of the last one.
    fn acked(&mut self, _flow: &mut Flow, _sample: &AckSample) {}
}
