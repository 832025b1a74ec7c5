//! Where the packets of this host wait on their way out, and what passes each place: socket, queue discipline, driver, below.
//!
//! [`Watch::open`] begins to watch the calling thread's network namespace, each [`Watch::look`] tells [`Layers`] of the time since
//! the last one. Programs on the kernel's tracepoints (`bpf/`, compiled when this crate is, fitted to the running kernel when they
//! are loaded) sum up by flow and device; no packet is told of by itself, and their maps are bounded. Sockets, queues and drivers
//! are asked for over netlink and `/sys`. Without programs, these alone must do.
//!
//! How each number comes about stands in the documentation of [`layers`].
//!
//! ```no_run
//! # fn main() -> Result<(), unbloat_watch::WatchError> {
//! use unbloat_watch::{Options, Watch};
//!
//! let mut watch = Watch::open(&Options::default())?;
//! std::thread::sleep(std::time::Duration::from_secs(1));
//! for flow in watch.look()?.flows {
//!     if let Some((layer, delay)) = flow.worst() {
//!         println!("{} waits {delay} in {layer}", flow.flow);
//!     }
//! }
//! # Ok(())
//! # }
//! ```

mod account;
mod counts;
mod devices;
mod differences;
mod error;
mod flow;
#[doc(hidden)]
pub mod fuzz;
pub mod layers;
mod probes;
mod process;
mod sockets;
mod spread;
mod watch;

pub use error::{ProbesError, WatchError};
pub use flow::{Filter, Flow, Protocol};
pub use layers::{FlowLayers, InterfaceLayers, Layer, Layers, Wait};
pub use process::Process;
pub use spread::Spread;
pub use watch::{Blind, Options, Watch};
