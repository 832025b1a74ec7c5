//! Rates, delays, losses, radios and sending devices as composable path elements in virtual time.
//!
//! The simulator and the real-time emulator drive the same code. An [`Element`] takes packets,
//! keeps them for a while and gives them out with their *logical* departure time: computed from
//! what the element is, never from when somebody looked, so a late driver delays nothing but its
//! own view. A [`Path`] is a row of elements, built from their [`Config`]s:
//!
//! ```
//! use unbloat_link::{BottleneckParams, Config, Element, Output, Path};
//! use unbloat_link::{element::delay, service, service::constant};
//! use unbloat_qdisc::{Event, FlowHash, IpLen, Observer, Packet};
//! use unbloat_units::{Delta, Framing, Rate, Time};
//!
//! #[derive(Default)]
//! struct Arrivals(Vec<Time>);
//! impl Observer for Arrivals {
//!     fn event(&mut self, _now: Time, _event: Event) {}
//! }
//! impl Output for Arrivals {
//!     fn deliver(&mut self, at: Time, _packet: Packet) {
//!         self.0.push(at);
//!     }
//! }
//!
//! let start = Time::from_ns(0);
//! let bottleneck = Config::Bottleneck(BottleneckParams {
//!     queue: unbloat_qdisc::Config::named("droptail").unwrap(),
//!     service: service::Config::Constant(constant::Params { rate: Rate::mbps(12) }),
//!     framing: Framing::default(),
//! });
//! let delay = Config::Delay(delay::Params { delay: Delta::ms(20) });
//! let mut path = Path::build(&[bottleneck, delay], start, &mut fastrand::Rng::with_seed(1));
//!
//! let mut arrivals = Arrivals::default();
//! path.accept(start, Packet::new(0, IpLen::new(1500), FlowHash(1)), &mut arrivals);
//! while let Some(at) = path.next_at() {
//!     path.advance(at, &mut arrivals);
//! }
//! assert_eq!(arrivals.0, [start + Delta::ms(21)]);
//! ```

#![warn(clippy::disallowed_methods)]

mod bottleneck;
mod carriable;
pub mod device;
pub mod element;
mod path;
pub mod radio;
mod registry;
mod seam;
pub mod service;
#[cfg(test)]
mod testing;
pub mod trace;

pub use bottleneck::{Bottleneck, Params as BottleneckParams};
pub use carriable::carriable;
pub use path::Path;
pub use registry::{AnyElement, Config, NAMES};
pub use seam::{Element, Output, Place};
