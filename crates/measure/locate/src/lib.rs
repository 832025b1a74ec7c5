//! Which hop a queue stands at.
//!
//! Every hop of a path is asked at a steady rate while nothing is sent, then while load runs in one
//! direction. The delay that load adds at a hop holds the wait of every queue before it, so behind a
//! queue all hops have it: the queue is at the first hop whose added delay persists at all later ones.
//! [`locate`] says which one that is, how sure it is, or why nobody can tell.
//!
//! # References
//! - Jiang, Liu, Wang, Lee, Rhee, "Understanding Bufferbloat in Cellular Networks" (CellNet 2012),
//!   section 2 and figure 2: round-trip times to each hop under load, read by eye.
//! - Augustin et al., "Avoiding traceroute anomalies with Paris traceroute" (IMC 2006): why all
//!   probes of a path must look like one flow.
//! - Künsch, "The jackknife and the bootstrap for general stationary observations" (1989): resampling
//!   in blocks, because a queue remembers.
//!
//! # What an answer can be worth
//! 1. A router may take its time to answer (*slow path*) while what it forwards waits for nothing: a
//!    delay that later hops do not have is the router's own.
//! 2. A router may answer once in a while only (*rate-limited*; Linux's default is one a second). Few
//!    answers are still answers: they widen what cannot be told apart.
//! 3. A router may say nothing (*silent*). Then a queue is between the hops around it.
//! 4. An answer may come from elsewhere than before, because the path has changed or is shared out by
//!    load balancers. Answers are compared with those of the same address only.
//!
//! # What it cannot know
//! A round trip sees both ways, so a queue belongs to the direction of the load that filled it. ACKs of a
//! download can fill a thin uplink: one-way delays tell, round trips do not. A queue that shares its
//! place out among flows (FQ-CoDel) does not delay probes, nor anybody else but the load itself.

#![warn(clippy::disallowed_methods)]

mod document;
mod envelope;
mod evidence;
mod hop;
mod layer;
mod params;
mod resample;
mod series;
mod statistic;
mod verdict;
mod words;

pub use document::{HopDocument, LoadFinding, LoadVerdict, NodeDocument, ReasonName, StepDocument};
pub use evidence::{Evidence, PEER, Phase, Probe};
pub use hop::{HopKind, HopReport};
pub use layer::{Layer, LayerDelay, Layers};
pub use params::Params;
pub use verdict::{Confidence, Finding, Node, Place, Reason, Step, Verdict, locate};
