//! The sending side of a connection.
//!
//! # References
//! RFC 9293 (windows), RFC 5681, RFC 6675 and RFC 8985 (SACK, RACK-TLP), RFC 9937 (PRR), RFC 6298
//! (timeout), RFC 5682 (F-RTO), RFC 2861 (idle restart), RFC 3168 (ECN); where they leave a choice,
//! Linux 6.12 (`net/ipv4/tcp_input.c`, `tcp_output.c`, `tcp_timer.c`, `tcp_recovery.c`, `tcp_rate.c`).
//!
//! # Where we differ
//! 1. The connection is established and never closed: no SYN and no FIN. A round-trip time that the
//!    handshake would have measured is given by [`Sender::seed_rtt`].
//! 2. Every segment is sent, acknowledged and found lost by itself; Linux does so with groups of up
//!    to 64 kB (GSO), whose segments share one time of transmission.
//! 3. The timeout is computed in microseconds; Linux rounds it up to ticks. Timers fire as Linux' do.
//! 4. SACK is always used (no RFC 6582 recovery without it), Nagle's algorithm never.
//! 5. How much waits in the qdisc below (TCP small queues) is for the driver to limit: it stops
//!    polling. Whether the qdisc holds data is not part of "limited by the application".
//! 6. Segments keep the size that they were sent with: retransmissions are neither merged nor cut.

mod ack;
mod output;
mod pacing;
mod prr;
mod rack;
mod rate;
mod recovery;
mod rto;
mod sack;
mod scoreboard;
mod stats;
mod timer;
mod tlp;
mod undo;
mod window;

pub use rto::Params as RtoParams;
pub use stats::Stats;

use crate::congestion::{AnyCongestion, Config, Congestion, Flow, Needs, State};
use crate::event::{Event, Limit, Observer};
use crate::segment::{Segment, Timestamps};
use crate::windowed::Windowed;
use rate::Rate;
use rto::Rto;
use scoreboard::Scoreboard;
use timer::Timer;
use unbloat_units::{Seq, Time};

/// Whether and how the connection uses ECN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnMode {
    /// Segments are sent as Not-ECT.
    #[default]
    Off,
    /// ECT(0), one reaction a round (RFC 3168).
    Classic,
    /// CE is counted exactly; ECT(1) if the congestion control is of L4S, else ECT(0).
    Accurate,
}

/// What can be set; the defaults are those of Linux.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// RFC 6928: ten segments.
    pub initial_window: u32,
    pub congestion: Config,
    pub rto: RtoParams,
    pub timestamps: bool,
    pub ecn: EcnMode,
    /// Duplicate ACKs before loss is assumed while no reordering was seen.
    pub reordering: u32,
    /// The most that reordering is taken to be.
    pub max_reordering: u32,
    /// Probes for lost tails (RFC 8985 section 7).
    pub loss_probe: bool,
    /// RFC 5682.
    pub frto: bool,
    /// RFC 2861: the window decays while it is not used.
    pub slow_start_after_idle: bool,
    /// Duplicate ACKs that bring SACK blocks update the round-trip time and so the timeout. On in
    /// Linux since 3.12; without it the timer expires while a bloated queue fills, which is what
    /// (Huang et al., SIGCOMM 2013, section 5.2) found and proposed to change.
    pub rtt_from_sacks: bool,
    /// Pace also when the congestion control does not ask for it, at 200 % of a window a round in
    /// slow start and 120 % after.
    pub pacing: bool,
    /// Ticks per second of timers and of the coarse clock of congestion controls.
    pub hz: u32,
    /// Bytes that the socket takes beyond what is acknowledged: see [`Sender::writable`].
    pub send_buffer: u64,
    /// TCP_NOTSENT_LOWAT: bytes that the socket takes beyond what was sent; no value: only `send_buffer` counts.
    pub notsent_lowat: Option<u64>,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            mss: 1_448,
            initial_window: 10,
            congestion: Config::NewReno(Default::default()),
            rto: RtoParams::default(),
            timestamps: true,
            ecn: EcnMode::Off,
            reordering: 3,
            max_reordering: 300,
            loss_probe: true,
            frto: true,
            slow_start_after_idle: true,
            rtt_from_sacks: true,
            pacing: false,
            hz: 250,
            // What 4 MiB (`tcp_wmem`) hold where 1,448 bytes cost 2,434 of memory, as measured.
            send_buffer: 1_723 * 1_448,
            notsent_lowat: None,
        }
    }
}

/// What an acknowledgement allows to be sent besides new data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Resend {
    #[default]
    Nothing,
    Lost,
    /// New data first, and what was lost only if there is none (F-RTO).
    NewFirst,
}

/// A sender of one connection.
#[derive(Clone, Debug)]
pub struct Sender {
    params: Params,
    needs: Needs,
    congestion: AnyCongestion,
    flow: Flow,
    board: Scoreboard,
    /// Time of the current call.
    now: Time,

    /// Bytes that the application has handed over so far.
    written: u64,
    /// Bytes beyond `snd_una` that the receiver takes, and the most it ever took.
    peer_window: u32,
    max_peer_window: u32,
    /// The receiver's last TSval, and the last echo of ours.
    peer_clock: Seq,
    echo: Option<Seq>,

    rto: Rto,
    min_rtt: Windowed,
    timer: Option<Timer>,
    rate: Rate,
    rack: rack::Rack,
    recovery: recovery::Recovery,
    prr: prr::Prr,
    tlp: tlp::Tlp,
    usage: window::Usage,
    sack_cache: sack::Cache,
    ecn: EcnState,

    /// What a timer sent; leaves with the next poll.
    staged: Option<Segment>,
    resend: Resend,
    /// New segments since the last end of a burst.
    burst: u32,
    stats: Stats,
}

/// The sender's part of ECN.
#[derive(Clone, Debug, Default)]
struct EcnState {
    /// The next new segment carries CWR.
    send_cwr: bool,
    /// CE that the receiver has reported.
    ce_packets: u32,
}

impl Sender {
    /// A sender with an empty stream, whose receiver offers `peer_window` bytes.
    pub fn new(now: Time, params: Params, peer_window: u32) -> Sender {
        let mut congestion = params.congestion.build();
        let needs = congestion.needs();
        let mut flow = Flow::new(params.mss, params.initial_window, params.hz);
        flow.now_us = clock_us(now);
        flow.delivered_us = flow.now_us;
        flow.is_paced = needs.pacing || params.pacing;
        congestion.init(&mut flow);
        Sender {
            needs,
            rto: Rto::new(params.rto),
            min_rtt: Windowed::new(flow.jiffies(), u32::MAX),
            rate: Rate::new(flow.now_us),
            rack: rack::Rack::new(params.reordering),
            board: Scoreboard::new(needs.rate_samples),
            usage: window::Usage::new(flow.jiffies()),
            params,
            congestion,
            flow,
            now,
            written: 0,
            peer_window,
            max_peer_window: peer_window,
            peer_clock: Seq::new(0),
            echo: None,
            timer: None,
            recovery: recovery::Recovery::default(),
            prr: prr::Prr::default(),
            tlp: tlp::Tlp::default(),
            sack_cache: sack::Cache::default(),
            ecn: EcnState::default(),
            staged: None,
            resend: Resend::Nothing,
            burst: 0,
            stats: Stats::new(now),
        }
    }

    /// Takes in the round-trip time that the handshake measured.
    pub fn seed_rtt(&mut self, now: Time, rtt: unbloat_units::Delta) {
        self.enter(now);
        let rtt_us = rtt.as_us().clamp(1, i64::from(u32::MAX)) as u32;
        self.take_rtt(rtt_us, rtt_us, false);
        if self.stats.segments_sent == 0 {
            self.congestion.init(&mut self.flow);
        }
    }

    /// Takes in that the handshake was sent again so many times. After more than one the window begins with a single
    /// segment (RFC 5681 section 3.1; Linux `tcp_init_transfer`).
    pub fn lost_handshakes(&mut self, count: u32) {
        if count > 1 {
            self.flow.cwnd = 1;
        }
    }

    /// Appends data of the application to the stream.
    pub fn write(&mut self, now: Time, bytes: u64) {
        self.enter(now);
        self.end_burst();
        self.note_application_limit();
        self.restart_after_idle();
        self.written += bytes;
    }

    /// The next segment to send, if one may be sent now. To be called until there is none.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time, observer: &mut dyn Observer) -> Option<Segment> {
        self.enter(now);
        self.next_segment(observer)
    }

    /// When `on_timeout` is to be called; asked again after every other call.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Time> {
        let timer = self.timer_at();
        match self.pacing_timeout() {
            Some(pacing) => Some(timer.map_or(pacing, |timer| timer.min(pacing))),
            None => timer,
        }
    }

    /// Acts on timers that are due.
    pub fn on_timeout(&mut self, now: Time, observer: &mut dyn Observer) {
        self.enter(now);
        self.end_burst();
        self.expire(observer);
    }

    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Window, round-trip times and counts as the congestion control sees them.
    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Bytes that were written and not yet sent for the first time.
    #[inline]
    pub fn unsent(&self) -> u64 {
        self.written - self.flow.snd_nxt
    }

    /// Bytes that an application may write to a socket now: none until a third of the buffer is free and, with a low-water mark,
    /// less than half of it waits to be sent (Linux 6.12 `sk_stream_write_space`, `__sk_stream_memory_free`). A segment that was
    /// begun below the buffer's limit is filled (`tcp_sendmsg_locked`); a write stops exactly at the mark. `write` takes more, for
    /// sources that have no socket.
    #[inline]
    pub fn writable(&self) -> u64 {
        let Params {
            send_buffer,
            notsent_lowat,
            ..
        } = self.params;
        let waiting = self.unacknowledged();
        let below_mark = notsent_lowat.map_or(u64::MAX, |mark| mark.saturating_sub(self.unsent()));
        let is_below_half = notsent_lowat.is_none_or(|mark| 2 * self.unsent() < mark);
        if 3 * waiting <= 2 * send_buffer && is_below_half {
            let full = send_buffer.next_multiple_of(u64::from(self.params.mss));
            (full - waiting).min(below_mark)
        } else {
            0
        }
    }

    /// Bytes that were written and are not acknowledged.
    #[inline]
    pub fn unacknowledged(&self) -> u64 {
        self.written - self.flow.snd_una
    }

    /// Where the first segment in flight and the next new one are noted: what an acknowledgement will need, for a driver that knows of
    /// it early.
    #[inline]
    pub fn ends_of_window(&self) -> [&impl Sized; 2] {
        self.board.ends()
    }

    /// What keeps it from sending more, as of the last poll.
    pub fn limit(&self) -> Limit {
        self.stats.limit()
    }

    #[inline]
    fn enter(&mut self, now: Time) {
        if now != self.now {
            self.now = now;
            self.flow.now_us = clock_us(now);
        }
    }

    fn timestamps(&self) -> Option<Timestamps> {
        self.params.timestamps.then(|| Timestamps {
            value: Timestamps::clock(self.now),
            echo: self.peer_clock,
        })
    }

    fn set_state(&mut self, state: State, observer: &mut dyn Observer) {
        let from = self.flow.state;
        self.congestion.set_state(&mut self.flow, state);
        self.flow.state = state;
        if from != state {
            self.stats.entered(state);
            observer.event(self.now, Event::State { from, to: state });
        }
    }

    fn report_window(&self, before: (u32, u32), observer: &mut dyn Observer) {
        let (cwnd, ssthresh) = (self.flow.cwnd, self.flow.ssthresh);
        if (cwnd, ssthresh) != before {
            observer.event(self.now, Event::Window { cwnd, ssthresh });
        }
    }
}

/// Microseconds since a second before the origin of time, so that zero can mean "never".
#[inline]
fn clock_us(now: Time) -> u64 {
    (now.as_ns() / 1_000 + EPOCH_US) as u64
}

fn time_of_us(us: u64) -> Time {
    Time::from_ns((us as i64 - EPOCH_US) * 1_000)
}

const EPOCH_US: i64 = 1_000_000;
