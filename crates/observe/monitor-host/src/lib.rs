//! Watches an interface for months.
//!
//! [`watch`] captures packets, analyses them and closes a span every so often; it survives the loss of the interface. Layers of this host come
//! from `unbloat-watch`. What spans say is `unbloat-monitor`'s. [`Notifier`] sends alerts to a command that the user named.

mod eyes;
mod layers;
mod notify;

pub use eyes::{Options, Seen, WatchFailure, watch};
pub use notify::Notifier;
