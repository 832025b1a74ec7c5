//! Delivery rate: how fast data arrived between sending a segment and learning of its delivery.
//!
//! # References
//! draft-cheng-iccrg-delivery-rate-estimation; Linux 6.12 `net/ipv4/tcp_rate.c`.

use super::Sender;
use super::scoreboard::{Index, RateMark};
use crate::congestion::{Congestion, RateSample};

#[derive(Clone, Debug)]
pub(super) struct Rate {
    /// When the last segment that was found delivered had been sent.
    first_sent_us: u64,
    /// End of the segment that the sample under way is about.
    last_end: u64,
    prior_delivered_us: u64,
    send_interval_us: u64,
    has_mark: bool,
    sample: RateSample,
}

impl Rate {
    pub(super) fn new(now_us: u64) -> Rate {
        Rate {
            first_sent_us: now_us,
            last_end: 0,
            prior_delivered_us: 0,
            send_interval_us: 0,
            has_mark: false,
            sample: RateSample::default(),
        }
    }

    pub(super) fn begin(&mut self, prior_in_flight: u32) {
        self.has_mark = false;
        self.sample = RateSample {
            prior_in_flight,
            ..RateSample::default()
        };
    }

    /// Deliveries when the sampled segment was sent; zero if there is no sample.
    pub(super) fn prior_delivered(&self) -> u32 {
        self.sample.prior_delivered
    }
}

impl Sender {
    /// Notes the state of delivery beside a segment that is being sent.
    pub(super) fn mark_rate(&mut self, i: Index) {
        if self.flow.packets_out == 0 {
            self.rate.first_sent_us = self.flow.now_us;
            self.flow.delivered_us = self.flow.now_us;
        }
        let (flow, rate) = (&self.flow, &self.rate);
        self.board.set_mark(i, || RateMark {
            first_sent_us: rate.first_sent_us,
            delivered_us: flow.delivered_us,
            delivered_ce: flow.delivered_ce,
            // The segment itself is not yet counted.
            in_flight: flow.in_flight() + 1,
            lost: flow.lost,
            is_app_limited: flow.app_limited != 0,
        });
    }

    /// Takes a segment that was just found delivered as sample, if it was sent latest.
    #[inline(always)]
    pub(super) fn sample_rate(&mut self, i: Index) {
        let entry = self.board.get(i);
        let rate = &mut self.rate;
        let is_later = (entry.sent_us, entry.end) > (rate.first_sent_us, rate.last_end);
        if rate.sample.prior_delivered != 0 && !is_later {
            return;
        }
        rate.sample.prior_delivered = entry.delivered;
        rate.last_end = entry.end;
        rate.first_sent_us = entry.sent_us;
        if let Some(mark) = self.board.mark(i) {
            rate.has_mark = true;
            rate.prior_delivered_us = mark.delivered_us;
            rate.send_interval_us = entry.sent_us - mark.first_sent_us;
            rate.sample.prior_delivered_ce = mark.delivered_ce;
            rate.sample.is_app_limited = mark.is_app_limited;
            rate.sample.tx_in_flight = mark.in_flight;
            rate.sample.prior_lost = mark.lost;
        }
    }

    /// Finishes the sample and gives it to a control that wants it.
    pub(super) fn finish_rate(
        &mut self,
        delivered: u32,
        lost: u32,
        rtt_us: Option<u32>,
        seen: &super::ack::Seen,
    ) {
        if self.flow.app_limited != 0 && self.flow.delivered > self.flow.app_limited {
            self.flow.app_limited = 0;
        }
        if delivered > 0 {
            self.flow.delivered_us = self.flow.now_us;
        }
        if !self.needs.rate_samples {
            return;
        }
        let rate = &mut self.rate;
        let sample = &mut rate.sample;
        sample.acked_sacked = delivered;
        sample.losses = lost;
        sample.rtt_us = rtt_us;
        sample.is_ack_delayed = seen.maybe_delayed;
        sample.is_ece = seen.ece;
        if rate.has_mark && !self.recovery.is_reneged {
            sample.delivered = Some(self.flow.delivered - sample.prior_delivered);
            sample.delivered_ce = self.flow.delivered_ce - sample.prior_delivered_ce;
            let ack_interval = self.flow.now_us - rate.prior_delivered_us;
            let interval = rate.send_interval_us.max(ack_interval);
            // Shorter than any round trip: an acknowledgement of an earlier transmission.
            let is_credible = interval >= u64::from(self.flow.min_rtt_us);
            sample.interval_us = is_credible.then_some(interval as u32);
        }
        if self.needs.full_control {
            self.congestion.control(&mut self.flow, &self.rate.sample);
        }
    }

    /// Before the application writes: is it what limits the rate?
    pub(super) fn note_application_limit(&mut self) {
        let flow = &mut self.flow;
        if self.written - flow.snd_nxt < u64::from(flow.mss)
            && flow.in_flight() < flow.cwnd
            && flow.lost_out <= flow.retrans_out
        {
            flow.app_limited = (flow.delivered + flow.in_flight()).max(1);
        }
    }
}
