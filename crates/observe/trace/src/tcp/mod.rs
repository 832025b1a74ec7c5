//! What one TCP packet means, given what the monitor saw before it.
//!
//! # References
//! RFC 9293 (sequence space, windows), RFC 7323 (timestamps, window scale), RFC 2018 and 2883
//! (SACK, DSACK), RFC 3522 (Eifel), RFC 5681 (duplicate ACKs).
//!
//! # What we follow
//! Each direction of data has a [`Half`]: the sender's sequence space and the receiver's ACKs for
//! it. A packet is classified once, here, into a [`Segment`]; every analysis reads the same facts.
//!
//! # Where we differ from the tools people know
//! | | tcptrace 6.6.7 | tshark 4.0 | here | why |
//! |---|---|---|---|---|
//! | retransmission | bytes seen before | timing rules first | bytes seen before | timing rules fail when RTT is inflated, which is what we look for |
//! | segment below the highest, bytes never seen | out of order | within 3 ms or the initial RTT out of order, else retransmission | split by TSval, then IP ID, then time, else ambiguous | a loss upstream of the monitor is no reordering |
//! | duplicate ACK | same scaled window | same window | same window, or SACK blocks present | receivers that tune their buffer change the window during loss |
//! | RTT sample | Karn, ACK ends at a segment | no Karn | Karn, ACK ends at a segment | a copy's ACK is ambiguous |
//! | same packet captured twice | retransmission | retransmission | left out before, counted apart | mirrored ports and monitors on both sides of a gateway |

mod gaps;
mod half;
mod ring;
mod segment;

pub(crate) use half::{Half, Scale, micros, since_micros};
pub use segment::{AckKind, DataKind, Kind, RttSample, Segment};
