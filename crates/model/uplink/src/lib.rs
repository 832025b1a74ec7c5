//! Uplink control: how much may leave the queue discipline so that the modem's buffer stays at a delay.
//!
//! A modem buffers hundreds of kilobytes in order of arrival; what waits there is beyond every scheduler of the host. [`Valve`] lets
//! packets leave the discipline above only as fast as the modem drains, so that the queue stands where it can be managed. What the
//! modem holds it learns from an [`Occupancy`]: the modem's own report, a buffer status report, or the delay that acknowledgements show.
//!
//! # References
//! Y. Guo et al., IMC 2016, section 6: the kernel estimates the firmware's occupancy and regulates how fast packets leave the
//! discipline. Its target, its polling and its algorithm are not public: those here are ours, and so are their results.
//!
//! ```
//! use unbloat_uplink::{Occupancy, Params, Valve};
//! use unbloat_units::{Bytes, Delta, Time};
//!
//! let start = Time::from_ns(0);
//! let mut valve = Valve::new(Params::default(), start);
//! while valve.is_open(start) {
//!     valve.released(start, Bytes::new(1_500));
//! }
//! // 5 ms later the modem has 7,500 bytes left, so it has sent as many: 12 Mbit/s.
//! let later = start + Delta::ms(5);
//! valve.learn(later, Occupancy::Bytes(Bytes::new(7_500)));
//! assert!(valve.is_open(later));
//! ```

#![warn(clippy::disallowed_methods)]

mod bsr;
mod echo;
mod rate;
mod stamps;
mod valve;

pub use bsr::Bsr;
pub use echo::{Echo, Echoes};
pub use rate::Drain;
pub use stamps::Listener;
pub use valve::{Occupancy, Params, Valve};
