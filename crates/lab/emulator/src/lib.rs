//! The path of a simulation in real time, between TUN devices.
//!
//! An [`Emulator`] reads packets from the devices of clients and servers, lets each of them through an
//! [`unbloat_link::Path`] and writes it to the device behind which its destination is. The path decides *when* in logical time;
//! the emulator only does it as soon after that as the machine allows, and tells how late it was ([`Report`]). A late wake-up
//! therefore delays the packets that were due, never those that follow.
//!
//! TCP may come in packets of 64 kB (TSO): each is one read, but the model sees its segments one by one.

mod ahead;
mod arrival;
mod books;
mod bulk;
mod clock;
mod delays;
mod departure;
mod devices;
mod egress;
mod emulator;
mod error;
mod flight;
#[doc(hidden)]
pub mod fuzz;
mod gate;
mod ip;
mod plane;
#[cfg(test)]
mod plane_tests;
mod port;
mod report;
mod ring;
mod routes;
mod store;
mod tcp;
#[cfg(test)]
mod testing;
mod ticks;
mod timing;
mod vnet;

pub use ahead::{Ahead, Wire};
pub use books::{Parts, Witness};
pub use clock::{Clock, Monotonic};
pub use delays::ExtraDelay;
pub use emulator::{Emulated, Emulator, Setup};
pub use error::EmulatorError;
pub use gate::{Gate, Valve};
pub use port::{Port, Side};
pub use report::{Counts, Doubt, Report};
pub use ticks::Tick;
pub use timing::{Privileges, Timing};
