//! Evidence of standing queues: delays that cannot be a host's own wait, in windows of a quarter of a second.
//!
//! # Idea
//! Hosts, radios and routes only ever add to a delay. So a low sample acquits whatever made it, and a
//! high one convicts only as far as the host that answered cannot have waited. How long it can have
//! waited is known: an answer to something that arrived before the host's previous packet would have
//! left with that packet. So every sample is an interval. Its upper end is what was measured, its lower
//! end is that less the time since the host's previous packet (`gap`). Delayed and piggybacked
//! acknowledgments, think time and keystrokes come with long gaps and convict nobody; in a bulk transfer
//! the gap is a millisecond.
//!
//! # Delays
//! Round trips by the capture's own clock, of each *leg*: between the capture point and the client, and between it and the server.
//!
//! | round trip | begins with | ends with |
//! |---|---|---|
//! | acknowledgment | data | its acknowledgment (RFC 6298's rules on copies) |
//! | echo | the first packet with a timestamp | the first packet that echoes it (`echo`) |
//! | spin | an edge of QUIC's spin bit | the other host's answer to it ([`spin`]) |
//!
//! Hosts' clocks only mark packets. The clock of the host that answers tells which way of a late leg is longer, as far as it fits
//! the round trips (`halves`).
//!
//! # Other delays
//! What is late and no queue is named by what went before and by how late samples are spread (`lateness`), by what servers
//! send while they make answers (`think`), and by levels of the least delays (`levels`). Only samples count
//! while the user's own traffic is too little to fill a queue; queues that others fill follow from one sample to
//! the next, which these delays do not.
//!
//! # References
//! RFC 7323 §4.3 (which segment is echoed). Nichols and Jacobson, "Controlling Queue Delay", ACM Queue
//! 10(5), 2012, and RFC 8289 §3: a standing queue is a minimum that stays above a target over an
//! interval. Veal, Li and Lowenthal, "New methods for passive estimation of TCP round-trip times", PAM 2005.
//!
//! # Where we differ
//! A receiver without timestamps can take the time in which a window's worth of data arrives for a round trip (Fisk and
//! Feng, "Dynamic right-sizing in TCP", LACSI 2001; Linux's `tcp_rcv_rtt_measure`). It is longer than the round trip unless
//! the window is what holds the sender back, so it convicts nobody; and since receivers offer twice what arrives in a
//! round trip, and more, it acquits nobody either. We leave it out: such a capture says that it cannot tell.
//!
//! CoDel takes the minimum of all packets in 100 ms; we have samples instead of packets, so windows last
//! 250 ms and count only with enough samples that convict. The published methods count every sample; we
//! bound the host's share of each. Chirichella and others ("Passive bufferbloat measurement exploiting transport layer information",
//! GLOBECOM 2013) take timestamps for one-way delays; clocks that drift, step or tick oddly look like queues then.

mod delays;
mod echo;
mod evidence;
mod halves;
mod lateness;
mod levels;
mod load;
mod ranks;
mod recorder;
mod spin;
mod think;
mod wait;
mod waits;
mod window;

pub use evidence::ALWAYS_TOLD_WINDOWS;
pub(crate) use evidence::{Evidence, Facts, evidence};
pub(crate) use load::Load;
pub(crate) use recorder::Recorder;
pub(crate) use spin::Spin;
pub(crate) use window::{Carried, WINDOW, index_of};

/// Makes room for one more, and for half as many again: there are millions of these, and most stay short.
fn make_room<T>(values: &mut Vec<T>) {
    if values.len() == values.capacity() {
        values.reserve_exact(1 + values.len() / 2);
    }
}
