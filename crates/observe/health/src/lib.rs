//! Whether a capture can carry the conclusions drawn from it.
//!
//! [`Watch`] looks at packets in trace order, marks those that were captured twice, and takes steps
//! of the capture clock out of their times. What it counted is a [`Health`], to which the flows' rows
//! add what only they tell (one direction only, bytes missing) and the source what it knows (drops,
//! damage). [`Health::problems`] says what is worth telling, in plain sentences.
//!
//! # When a problem is reported
//! | problem | told from | doubtful from | why |
//! |---|---|---|---|
//! | one direction only | 5 % of the TCP flows, at least one | 50 % | a flow without its answers has no round trips |
//! | captured twice | 1 % of a direction's packets, at least 10 | never: copies are left out | networks duplicate less than one packet in a thousand |
//! | bytes missing | 0.1 % of the payload, more than two segments | 1 % | the share of loss from which TCP itself suffers; a capture that loses as much hides it |
//! | kernel drops | one | 1 % of the packets | as above |
//! | damage | any | never: what came before it counts | the result ends early |
//! | clock steps | one | never: taken out | |
//! | out of time order | by 1 ms | by 10 ms, 1 % of the packets | 1 ms is the resolution of TCP timestamps; CoDel's target is 5 ms |
//! | unread link type | one packet | half of all | |
//! | offloaded segments | 5 % of the TCP data packets, at least 10 | never: bytes and delays hold | |
//! | TCP options cut | 1 % of the TCP packets, at least 3 | the same | no timestamps, no SACK, no window scale |
//! | payload cut | half of the packets with payload, at least 10 | never: delays hold | |

#![warn(clippy::disallowed_methods)]

mod clock;
mod copies;
mod health;
mod links;
mod offload;
mod problems;
mod seen;
mod sentences;
mod stamps;
mod state;
#[cfg(test)]
mod testing;
mod watch;

pub use health::{
    ClockHealth, Copied, Flows, Health, Offload, Order, Sides, Snap, Step, UnreadLink,
};
pub use problems::{Problem, ProblemKind, Weight};
pub use seen::Seen;
pub use state::State;
pub use watch::Watch;
