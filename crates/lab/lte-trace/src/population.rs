//! Many users, by slices of time.

use crate::params::Params;
use crate::plan::Planner;
use crate::slice::{Frame, Slice};
use crate::truth::UserTruth;
use crate::user::User;
use std::sync::Arc;
use unbloat_units::{Delta, Time};

/// Every `shares`-th user of a trace.
pub struct Population {
    users: Vec<User>,
    now: Time,
    end: Time,
}

/// Length of a slice.
const SLICE: Delta = Delta::secs(10);
/// A handshake's round trip over an awake radio without a queue, less the backhaul: a packet down (wait for a TTI, a TTI, decoding)
/// and a packet up (half a period of requests, request to grant, grant to block, decoding).
const RADIO_RTT: Delta = Delta::us(4_500 + 5_000 + 12_000);

impl Population {
    /// Users whose number leaves the remainder `share` when divided by `shares`.
    pub fn new(params: &Params, seed: u64, share: u32, shares: u32) -> Population {
        let shared = Arc::new(params.clone());
        let planner = Planner::new(params, RADIO_RTT + params.backhaul * 2);
        let numbers = (0..params.users).filter(|number| number % shares.max(1) == share);
        Population {
            users: numbers
                .map(|number| User::new(&shared, &planner, number, seed))
                .collect(),
            now: Time::from_ns(0),
            end: Time::from_ns(0) + params.length(),
        }
    }

    /// Replaces `slice` by the frames of the next stretch of time, in order. False at the end.
    pub fn next(&mut self, slice: &mut Slice) -> bool {
        slice.clear();
        if self.now >= self.end {
            return false;
        }
        self.now = (self.now + SLICE).min(self.end);
        for user in &mut self.users {
            user.advance(self.now, slice);
        }
        slice.sort();
        true
    }

    /// What happened, by user.
    pub fn into_truth(self) -> Vec<UserTruth> {
        self.users.into_iter().map(User::into_truth).collect()
    }
}

/// Generates a trace on one thread: `sink` gets all frames by time. Returns what happened, by user.
pub fn generate(params: &Params, seed: u64, sink: &mut dyn FnMut(Frame<'_>)) -> Vec<UserTruth> {
    let mut population = Population::new(params, seed, 0, 1);
    let mut slice = Slice::default();
    while population.next(&mut slice) {
        (0..slice.len()).for_each(|index| sink(slice.frame(index)));
    }
    population.into_truth()
}
