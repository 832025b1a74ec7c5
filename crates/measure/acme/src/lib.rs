//! A certificate for a server's domain from an authority that speaks ACME (RFC 8555), and another one before it expires.
//!
//! The server proves by TLS-ALPN-01 (RFC 8737) that the domain is its own: on the port where it serves, with
//! [`Certificates::prove`](unbloat_server::Certificates::prove). [`keep`] runs beside the server until it is to stop. When
//! there is a new certificate is decided by [`schedule`]; everything that an authority sends is bounded by [`authority`].

mod authority;
mod error;
mod keep;
mod order;
mod schedule;
mod store;
mod validity;

pub use error::AcmeError;
pub use keep::{Event, keep};
pub use store::{LETS_ENCRYPT, Stored, Wanted};
