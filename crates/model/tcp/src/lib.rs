//! TCP senders, receivers and congestion controls as state machines without I/O.
//!
//! A [`Sender`] and a [`Receiver`] each hold one direction of an established connection. Whoever
//! drives them (the simulator, a test) hands in time, data, segments and acknowledgements, takes
//! out what is to be sent, and asks when to come back:
//!
//! | | in | out |
//! |---|---|---|
//! | [`Sender`] | `write`, `on_ack`, `on_timeout` | `poll_transmit` until it has nothing, then `poll_timeout` |
//! | [`Receiver`] | `on_segment`, `read`, `on_timeout` | `poll_ack`, `poll_timeout` |
//!
//! Behaviour follows the RFCs as Linux 6.12 does them, because the kernel is what results are
//! compared with. A congestion control is one file under `congestion/` and one line in its
//! registry; a rule for the receive window likewise under `receive_window/`.

#![warn(clippy::disallowed_methods)]

mod choices;
pub mod congestion;
mod event;
pub mod ledbat;
pub mod receive_window;
pub mod receiver;
mod segment;
pub mod sender;
mod ticks;
mod windowed;

pub use event::{Cause, Event, Evidence, Limit, Observer};
pub use receiver::Receiver;
pub use segment::{Ack, Block, CeCount, Ecn, SackBlocks, Segment, Timestamps};
pub use sender::Sender;
pub use ticks::timer_expiry;
