//! What a congestion control sees of its flow.

use super::State;

/// No threshold yet: slow start has no end.
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// The part of a sender's state that congestion controls read and write.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Congestion window in segments.
    pub cwnd: u32,
    pub ssthresh: u32,
    /// Fractions of a segment that the window has grown by, in units of the control.
    pub cwnd_cnt: u32,
    /// The window is never more than this.
    pub cwnd_clamp: u32,
    /// The window when the last reduction began.
    pub prior_cwnd: u32,
    pub state: State,
    /// Payload bytes of a full segment.
    pub mss: u32,

    /// Microseconds, of a clock that starts at one second and never stands at zero.
    pub now_us: u64,
    /// Ticks per second of the coarse clock that some controls count in.
    pub hz: u32,
    /// Coarse time of the last transmission of data.
    pub last_sent: u32,

    /// Smoothed round-trip time in microseconds times eight; zero before the first sample.
    pub srtt_us8: u32,
    /// The last sample that was taken into it, in microseconds.
    pub rtt_us: u32,
    /// Least round-trip time of five minutes, in microseconds.
    pub min_rtt_us: u32,

    /// First byte that is not acknowledged, and the next one to be sent.
    pub snd_una: u64,
    pub snd_nxt: u64,
    /// Segments that are sent and not cumulatively acknowledged.
    pub packets_out: u32,
    /// Of these: selectively acknowledged, lost, and sent again.
    pub sacked_out: u32,
    pub lost_out: u32,
    pub retrans_out: u32,

    /// Segments delivered so far, and of these how many with reports of congestion by ECN.
    pub delivered: u32,
    pub delivered_ce: u32,
    /// When the last delivery was learned of, in microseconds.
    pub delivered_us: u64,
    /// Segments marked lost so far.
    pub lost: u32,
    /// While not zero: the count of deliveries until which the application limits the rate.
    pub app_limited: u32,

    /// The window, not the application, limited what was sent in the last round.
    pub is_cwnd_limited: bool,
    /// The most segments that were in flight in a round that was not limited by the window.
    pub max_packets_out: u32,

    /// Bytes per second.
    pub pacing_rate: u64,
    /// Segments are sent no faster than `pacing_rate`.
    pub is_paced: bool,
    /// When the next paced segment may leave, in nanoseconds of the clock of `now_us`.
    pub next_send_ns: u64,
}

impl Flow {
    /// A flow before its first segment.
    pub fn new(mss: u32, cwnd: u32, hz: u32) -> Flow {
        Flow {
            cwnd,
            ssthresh: INFINITE_SSTHRESH,
            cwnd_cnt: 0,
            cwnd_clamp: u32::MAX,
            prior_cwnd: 0,
            state: State::Open,
            mss,
            now_us: 0,
            hz,
            last_sent: 0,
            srtt_us8: 0,
            rtt_us: 0,
            min_rtt_us: u32::MAX,
            snd_una: 0,
            snd_nxt: 0,
            packets_out: 0,
            sacked_out: 0,
            lost_out: 0,
            retrans_out: 0,
            // The handshake was delivered.
            delivered: 1,
            delivered_ce: 0,
            delivered_us: 0,
            lost: 0,
            app_limited: 0,
            is_cwnd_limited: false,
            max_packets_out: 0,
            pacing_rate: u64::MAX,
            is_paced: false,
            next_send_ns: 0,
        }
    }

    /// Segments that are taken to be in the network (RFC 6675 "pipe").
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.packets_out + self.retrans_out - self.sacked_out - self.lost_out
    }

    pub fn is_in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Whether the window is being reduced: nothing else may set it meanwhile.
    #[inline]
    pub fn is_in_reduction(&self) -> bool {
        matches!(self.state, State::Cwr | State::Recovery)
    }

    /// Whether growing the window makes sense (RFC 7661): it is used, or in slow start half used.
    pub fn is_limited_by_cwnd(&self) -> bool {
        self.is_cwnd_limited || (self.is_in_slow_start() && self.cwnd < 2 * self.max_packets_out)
    }

    /// The threshold to keep when the window is left: at least three quarters of it.
    pub fn current_ssthresh(&self) -> u32 {
        if self.is_in_reduction() {
            self.ssthresh
        } else {
            self.ssthresh.max((self.cwnd >> 1) + (self.cwnd >> 2))
        }
    }

    /// Time in ticks of the coarse clock.
    pub fn jiffies(&self) -> u32 {
        (self.now_us * u64::from(self.hz) / 1_000_000) as u32
    }

    /// A span in ticks of the coarse clock, rounded up.
    pub fn ticks(&self, us: u32) -> u32 {
        us.div_ceil(1_000_000 / self.hz)
    }

    /// Time until pacing lets the next segment go.
    pub fn pacing_wait_us(&self) -> u64 {
        (self.next_send_ns / 1_000).saturating_sub(self.now_us)
    }

    /// Slow start, one segment for each that was delivered; what is left over after the threshold
    /// is reached is returned.
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        let cwnd = (self.cwnd + acked).min(self.ssthresh);
        let left = acked - (cwnd - self.cwnd);
        self.cwnd = cwnd.min(self.cwnd_clamp);
        left
    }

    /// One segment more for every `w` delivered.
    pub fn additive_increase(&mut self, w: u32, acked: u32) {
        // Credit from a time with larger w is used, but gently.
        if self.cwnd_cnt >= w {
            self.cwnd_cnt = 0;
            self.cwnd += 1;
        }
        self.cwnd_cnt += acked;
        if self.cwnd_cnt >= w {
            let whole = self.cwnd_cnt / w;
            self.cwnd_cnt -= whole * w;
            self.cwnd += whole;
        }
        self.cwnd = self.cwnd.min(self.cwnd_clamp);
    }
}
