//! One file per question of the study.

pub(crate) mod added_delay;
pub(crate) mod bandwidth;
pub(crate) mod concurrency;
pub(crate) mod dns;
pub(crate) mod dup_acks;
pub(crate) mod durations;
pub(crate) mod handshakes;
pub(crate) mod http;
pub(crate) mod in_flight;
pub(crate) mod limits;
pub(crate) mod promotion;
pub(crate) mod protocols;
pub(crate) mod radio;
pub(crate) mod rates;
pub(crate) mod receive_window;
pub(crate) mod retransmissions;
pub(crate) mod rtt_in_flight;
pub(crate) mod sizes;
pub(crate) mod slow_starts;
pub(crate) mod table1;
pub(crate) mod ticks;
pub(crate) mod utilisation;
