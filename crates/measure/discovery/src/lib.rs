//! Test servers on the local network, by DNS-SD (RFC 6763) over multicast DNS (RFC 6762).
//!
//! [`find`] asks once and listens for a moment. It believes of an answer only that its sender serves at a port, so an announcement cannot
//! send a test to anybody else; and senders are neighbours on the link of the interface. Whether the server is trusted is decided by
//! its certificate, as for a server whose name was typed. `announce` (a feature) makes a server known.

#[cfg(feature = "announce")]
mod announce;
mod answers;
mod find;
#[doc(hidden)]
pub mod fuzz;
mod own;

#[cfg(feature = "announce")]
pub use announce::{AnnounceError, Announcement, announce};
pub use answers::Server;
pub use find::{FindError, find};
pub use own::own_addresses;

/// The service, below the domain `local`.
const SERVICE: [&str; 3] = ["_unbloat", "_tcp", "local"];
/// Of the TXT record: SHA-256 of the server's certificate, in hexadecimal.
const FINGERPRINT: &str = "fp";
