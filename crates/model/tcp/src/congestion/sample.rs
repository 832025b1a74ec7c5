//! What a sender measures when it takes in an acknowledgement.

/// Segments that left the retransmission queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckSample {
    /// Segments that were cumulatively acknowledged.
    pub segments: u32,
    /// Of the last one that was sent once and is now acknowledged; none if there was none.
    pub rtt_us: Option<u32>,
}

/// The rate at which data was delivered between sending a segment and learning of its delivery
/// (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateSample {
    /// Deliveries when the segment was sent that now is acknowledged; zero if there is no sample.
    pub prior_delivered: u32,
    pub prior_delivered_ce: u32,
    /// Segments delivered over the interval, none if unknown.
    pub delivered: Option<u32>,
    pub delivered_ce: u32,
    /// The longer of the times that sending and acknowledging took; none if there is no sample.
    pub interval_us: Option<u32>,
    pub rtt_us: Option<u32>,
    /// Segments delivered and marked lost by this acknowledgement.
    pub acked_sacked: u32,
    pub losses: u32,
    /// Segments in flight before this acknowledgement.
    pub prior_in_flight: u32,
    /// Segments that were in flight and lost in total when the sampled segment was sent.
    pub tx_in_flight: u32,
    pub prior_lost: u32,
    /// The application limited the rate when the sampled segment was sent.
    pub is_app_limited: bool,
    /// The acknowledgement was probably held back by a delayed-ACK timer.
    pub is_ack_delayed: bool,
    /// Congestion was reported by ECN on this acknowledgement.
    pub is_ece: bool,
}
