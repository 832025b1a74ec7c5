//! What a sender tells of what it does.

use crate::congestion::State;
use unbloat_units::{Delta, Time};

/// Why a segment was sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// RACK or duplicate ACKs found it lost.
    Fast,
    /// The retransmission timer had expired.
    Timeout,
    /// A tail loss probe.
    Probe,
}

/// What showed that a reduction of the window was not needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The echoed timestamp is older than the retransmission (Eifel, RFC 3522).
    Timestamp,
    /// D-SACKs for all retransmissions (RFC 3708).
    DuplicateSack,
    /// Data that was not sent again is acknowledged after a timeout (F-RTO, RFC 5682).
    Frto,
}

/// What keeps a sender from sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The application has nothing to send.
    Application,
    /// The congestion window is full.
    Congestion,
    /// The receiver's window is full.
    Receiver,
    /// The next segment waits for its time.
    Pacing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The window or its threshold has changed: in segments.
    Window {
        cwnd: u32,
        ssthresh: u32,
    },
    State {
        from: State,
        to: State,
    },
    Retransmission {
        seq: u64,
        len: u32,
        cause: Cause,
    },
    /// The timer expired after `rto`; the next one is twice as long.
    Timeout {
        rto: Delta,
    },
    /// A probe for lost tails: with new data, or with the last segment again.
    LossProbe {
        with_new_data: bool,
    },
    Undone {
        evidence: Evidence,
    },
    /// A sample of the round-trip time from data that was sent once.
    Rtt {
        sample: Delta,
        smoothed: Delta,
    },
}

/// Receives every event at the moment when it happens.
pub trait Observer {
    fn event(&mut self, now: Time, event: Event);
}

/// Collects events: for tests.
impl Observer for Vec<(Time, Event)> {
    fn event(&mut self, now: Time, event: Event) {
        self.push((now, event));
    }
}

/// For those who do not want to know.
impl Observer for () {
    fn event(&mut self, _now: Time, _event: Event) {}
}
