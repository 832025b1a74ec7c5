//! Applications over a live path, rated as their users would.
//!
//! The workloads of simulator and lab run unchanged, between this machine and a server that speaks `docs/protocol.md`: [`Apps`] is
//! their network. Put beside the load of a test they say what it does to those who share the path.
//!
//! # What an exchange and a datagram are here
//!
//! | workloads ask for | on the live path |
//! |---|---|
//! | a connection | HTTP/1.1 with keep-alive, over TLS where the server has it: its handshakes are part of what users wait for |
//! | a request and its response | `GET /large?bytes=N`; the request is as long as its header, some 150 bytes |
//! | data to the server | `POST /upload`; it has arrived when the answer is here, so half a round trip later than the server had it |
//! | exchanges of one connection at a time | one after the other: nobody pipelines HTTP/1.1 |
//! | a datagram | an echo of that size on the server's echo port (irtt's protocol), which is one up and one down. Two of the same number are one echo, of the larger size: nothing that leaves the server is larger than what came to it. At least 72 bytes of payload |
//! | its delay | by the stamps of both ends, the clocks' drift taken out; the idle path counts as equally long both ways |
//!
//! Two workloads are not for live paths: `bulk`, because that is what the stages of a test are, and `onoff`, because echoes always
//! go both ways.

mod app;
mod body;
mod choice;
mod clock;
mod connection;
mod datagrams;
mod line;
mod runner;
mod server;
mod stamped;

pub use app::AppReport;
pub use choice::{App, ChoiceError, SUPPORTED};
pub use runner::Apps;
pub use server::Server;
