//! One connection of a client: what is known of it, and what can be asked of its socket.

use crate::admission::Full;
use crate::gate::Gate;
use crate::quic;
use serde::Serialize;
use socket2::SockRef;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use unbloat_os::lock::lock;
use unbloat_os::tcp;
use unbloat_os::tcp_info::TcpInfo;
use unbloat_units::{Bytes, Delta, Rate};

/// A segment: holding less than one would hold all.
const LEAST_UNSENT: u64 = 1_448;

pub struct Peer {
    pub number: u64,
    pub from: SocketAddr,
    /// Which of our addresses it came to, as far as is known.
    pub to: Option<SocketAddr>,
    /// Why it gets no answer but this.
    pub refused: Option<Full>,
    pub is_encrypted: bool,
    socket: Mutex<Option<RawFd>>,
    /// Of the socket when it was closed: its transfers end after it.
    last: Mutex<Option<TcpAccount>>,
    quic: OnceLock<quic::Connection>,
    gate: Gate,
    unsent: Unsent,
    work: Mutex<Work>,
    is_sent_away: AtomicBool,
    sent_away: Notify,
}

/// How much may wait unsent in the kernel; nothing holds it while `ms` is 0.
#[derive(Default)]
struct Unsent {
    ms: AtomicU32,
    limit: AtomicU64,
    goodput: Mutex<Goodput>,
}

/// What was acknowledged, over spans of [`SPAN`] or more.
#[derive(Default)]
struct Goodput {
    from: Option<(Instant, u64)>,
    rate: Option<Rate>,
}

const SPAN: Duration = Duration::from_millis(50);

impl Goodput {
    /// None before the first span has passed.
    fn update(&mut self, acked: u64, now: Instant) -> Option<Rate> {
        match self.from {
            None => self.from = Some((now, acked)),
            Some((from, before)) if now >= from + SPAN => {
                let bits = 8.0 * acked.saturating_sub(before) as f64;
                self.rate = Some(Rate::from_bps_f64(bits / (now - from).as_secs_f64()));
                self.from = Some((now, acked));
            }
            Some(_) => {}
        }
        self.rate
    }
}

/// Requests whose answers are not yet complete, by number, with the moment when they must be.
struct Work {
    next: u64,
    ends: BTreeMap<u64, Instant>,
    idle_since: Instant,
}

/// A request that is being answered, until dropped.
pub struct Busy {
    peer: Arc<Peer>,
    number: u64,
}

impl Busy {
    /// Must be complete then, and not when it was said before.
    pub fn lasts(&self, until: Instant) {
        lock(&self.peer.work).ends.insert(self.number, until);
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut work = lock(&self.peer.work);
        work.ends.remove(&self.number);
        work.idle_since = Instant::now();
    }
}

/// What a connection does at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    Busy { until: Instant },
    Idle { since: Instant },
}

impl Peer {
    pub fn new(number: u64, from: SocketAddr, is_encrypted: bool, refused: Option<Full>) -> Peer {
        Peer {
            number,
            from: SocketAddr::new(from.ip().to_canonical(), from.port()),
            to: None,
            refused,
            is_encrypted,
            socket: Mutex::new(None),
            last: Mutex::new(None),
            quic: OnceLock::new(),
            gate: Gate::default(),
            unsent: Unsent::default(),
            work: Mutex::new(Work {
                next: 0,
                ends: BTreeMap::new(),
                idle_since: Instant::now(),
            }),
            is_sent_away: AtomicBool::new(false),
            sent_away: Notify::new(),
        }
    }

    #[cfg(feature = "http3")]
    pub fn know_quic(&self, connection: quic::Connection) {
        // It is told once.
        let _ = self.quic.set(connection);
    }

    /// Known until [`Peer::forget_socket`].
    pub fn know_socket(&self, stream: &TcpStream) {
        *lock(&self.socket) = Some(stream.as_raw_fd());
    }

    /// Before it is closed.
    pub fn forget_socket(&self) {
        *lock(&self.last) = self.tcp();
        *lock(&self.socket) = None;
    }

    fn with_socket<T>(
        &self,
        ask: impl FnOnce(BorrowedFd<'_>) -> io::Result<T>,
    ) -> Option<io::Result<T>> {
        let socket = lock(&self.socket);
        // SAFETY: it is open until it is forgotten, which waits for this lock.
        let borrowed = unsafe { BorrowedFd::borrow_raw((*socket)?) };
        Some(ask(borrowed))
    }

    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// A request began whose answer must be complete at `until`.
    pub fn begin(self: &Arc<Self>, until: Instant) -> Busy {
        let mut work = lock(&self.work);
        let number = work.next;
        work.next += 1;
        work.ends.insert(number, until);
        Busy {
            peer: Arc::clone(self),
            number,
        }
    }

    /// Its place is another's: it is to close.
    pub fn send_away(&self) {
        self.is_sent_away.store(true, Ordering::Release);
        self.sent_away.notify_one();
    }

    pub fn is_sent_away(&self) -> bool {
        self.is_sent_away.load(Ordering::Acquire)
    }

    /// Ready once it is to close.
    pub async fn sent_away(&self) {
        while !self.is_sent_away() {
            self.sent_away.notified().await;
        }
    }

    /// It never asked for anything.
    pub fn is_silent(&self) -> bool {
        lock(&self.work).next == 0
    }

    pub fn activity(&self) -> Activity {
        let work = lock(&self.work);
        match work.ends.values().min() {
            Some(&until) => Activity::Busy { until },
            None => Activity::Idle {
                since: work.idle_since,
            },
        }
    }

    /// Has the kernel send this connection's data by another congestion control; over QUIC nothing happens.
    pub fn set_congestion_control(&self, name: &str) -> io::Result<()> {
        self.with_socket(|socket| SockRef::from(&socket).set_tcp_congestion(name.as_bytes()))
            .unwrap_or(Ok(()))
    }

    /// From now on at most `ms` of this connection's rate wait unsent.
    pub fn hold_unsent(&self, ms: u16) {
        self.unsent.ms.store(u32::from(ms), Ordering::Relaxed);
        // The pieces that are written then are small, and each would end in a small packet. What a kernel refuses here costs these alone.
        let _ = self.with_socket(|socket| SockRef::from(&socket).set_tcp_nodelay(false));
        self.adapt_unsent();
    }

    pub fn holds_unsent(&self) -> bool {
        self.unsent.ms.load(Ordering::Relaxed) > 0
    }

    /// Fits the bound to the rate as it is now, and says it; half of it is the kernel's, the rest is for the piece
    /// that is being written.
    pub fn adapt_unsent(&self) -> Option<Bytes> {
        let span = Delta::ms(i64::from(self.unsent.ms.load(Ordering::Relaxed)));
        let whole = self.with_socket(|socket| {
            let info = TcpInfo::of(socket)?;
            let goodput = lock(&self.unsent.goodput).update(info.acked().as_u64(), Instant::now());
            let bytes = unsent_bytes(goodput.or_else(|| window_rate(&info)), span);
            let before = self.unsent.limit.swap(bytes, Ordering::Relaxed);
            if before.abs_diff(bytes) > before / 16 {
                // It wakes at half of that, for which the rest of a piece that waits for more must be no hindrance.
                let half = (bytes / 2).max(2 * info.mss().as_u64());
                let half = u32::try_from(half).unwrap_or(u32::MAX);
                SockRef::from(&socket).set_tcp_notsent_lowat(half)?;
            }
            Ok(Bytes::new(bytes))
        });
        whole?.ok()
    }

    pub fn info(&self) -> Option<TcpInfo> {
        self.with_socket(TcpInfo::of)?.ok()
    }

    /// Bytes that the other kernel acknowledged, and what it has not yet of all that was written; none over QUIC.
    pub fn acknowledged(&self) -> Option<(u64, u64)> {
        let asked = self.with_socket(|socket| {
            // In this order: what is acknowledged in between is asked of nobody.
            let acked = TcpInfo::of(socket)?.acked().as_u64();
            Ok((acked, tcp::unacknowledged(socket)?))
        });
        asked?.ok()
    }

    pub fn quic(&self) -> Option<QuicAccount> {
        self.quic.get().map(quic::account)
    }

    pub fn tcp(&self) -> Option<TcpAccount> {
        let held = self.holds_unsent();
        let limit = held.then(|| self.unsent.limit.load(Ordering::Relaxed));
        let account = self.with_socket(|socket| {
            let name = SockRef::from(&socket).tcp_congestion()?;
            let name = String::from_utf8_lossy(&name);
            let name = name.trim_end_matches('\0').to_owned();
            Ok(TcpAccount::of(&TcpInfo::of(socket)?, name, limit))
        });
        match account {
            Some(account) => account.ok(),
            None => lock(&self.last).clone(),
        }
    }
}

/// What `span` of a rate is.
fn unsent_bytes(rate: Option<Rate>, span: Delta) -> u64 {
    let bps = rate.map_or(0, Rate::as_bps);
    let bits = u128::from(bps) * u128::from(span.as_ns().unsigned_abs());
    let bytes = u64::try_from(bits / 8_000_000_000).unwrap_or(u64::MAX);
    bytes.max(2 * LEAST_UNSENT)
}

/// The rate of a connection that has no goodput yet: its window over its round-trip time. BBR's window is twice what
/// it sends in that time, its pacing is not.
fn window_rate(info: &TcpInfo) -> Option<Rate> {
    let by_window = info.cwnd().over(info.rtt().max(Delta::us(100)));
    [by_window, info.pacing_rate()].into_iter().flatten().min()
}

/// The account of a QUIC connection, as `docs/protocol.md` names it.
#[derive(Clone, Debug, Serialize)]
pub struct QuicAccount {
    pub rtt_ms: f64,
    pub min_rtt_ms: f64,
    pub cwnd_bytes: u64,
    pub sent_packets: u64,
    pub lost_packets: u64,
    pub congestion_events: u64,
    pub mtu_bytes: u16,
}

/// The kernel's account of a socket, as `docs/protocol.md` names it.
#[derive(Clone, Debug, Serialize)]
pub struct TcpAccount {
    congestion_control: String,
    congestion_state: &'static str,
    mss_bytes: u64,
    rtt_ms: f64,
    rtt_variation_ms: f64,
    min_rtt_ms: Option<f64>,
    cwnd_bytes: u64,
    in_flight_bytes: u64,
    unsent_bytes: u64,
    unsent_limit_bytes: Option<u64>,
    sent_bytes: u64,
    acked_bytes: u64,
    delivered_bytes: u64,
    received_bytes: u64,
    received_segments: u64,
    retransmissions: u64,
    pacing_rate_bps: Option<u64>,
    delivery_rate_bps: Option<u64>,
    busy_ms: f64,
    window_limited_ms: f64,
    buffer_limited_ms: f64,
}

impl TcpAccount {
    pub fn congestion_control(&self) -> &str {
        &self.congestion_control
    }

    fn of(
        info: &TcpInfo,
        congestion_control: String,
        unsent_limit_bytes: Option<u64>,
    ) -> TcpAccount {
        TcpAccount {
            congestion_control,
            congestion_state: info.congestion_state(),
            mss_bytes: info.mss().as_u64(),
            rtt_ms: info.rtt().as_ms(),
            rtt_variation_ms: info.rtt_variation().as_ms(),
            min_rtt_ms: info.min_rtt().map(Delta::as_ms),
            cwnd_bytes: info.cwnd().as_u64(),
            in_flight_bytes: info.in_flight().as_u64(),
            unsent_bytes: info.unsent().as_u64(),
            unsent_limit_bytes,
            sent_bytes: info.sent().as_u64(),
            acked_bytes: info.acked().as_u64(),
            delivered_bytes: info.delivered().as_u64(),
            received_bytes: info.received().as_u64(),
            received_segments: info.data_segments_received(),
            retransmissions: info.retransmissions(),
            pacing_rate_bps: info.pacing_rate().map(Rate::as_bps),
            delivery_rate_bps: info.delivery_rate().map(Rate::as_bps),
            busy_ms: info.busy().as_ms(),
            window_limited_ms: info.window_limited().as_ms(),
            buffer_limited_ms: info.buffer_limited().as_ms(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_a_span_of_goodput_and_never_less_than_two_segments() {
        let begun = Instant::now();
        let mut goodput = Goodput::default();
        assert_eq!(goodput.update(1_000, begun), None);
        assert_eq!(goodput.update(2_000, begun + SPAN / 2), None);
        let rate = goodput.update(626_000, begun + SPAN).unwrap();
        assert_eq!(rate, Rate::mbps(100));
        assert_eq!(
            unsent_bytes(Some(rate), Delta::ms(5)),
            62_500,
            "as the draft has it"
        );
        assert_eq!(
            unsent_bytes(Some(Rate::mbps(1)), Delta::ms(1)),
            2 * LEAST_UNSENT
        );
        assert_eq!(unsent_bytes(None, Delta::ms(5)), 2 * LEAST_UNSENT);
    }

    #[test]
    fn a_connection_without_a_socket_has_no_account() {
        let peer = Arc::new(Peer::new(1, ([127, 0, 0, 1], 1).into(), true, None));
        assert!(peer.tcp().is_none() && peer.quic().is_none() && peer.info().is_none());
        assert!(peer.set_congestion_control("cubic").is_ok());
        let until = Instant::now() + SPAN;
        let busy = peer.begin(until);
        assert_eq!(peer.activity(), Activity::Busy { until });
        drop(busy);
        assert!(matches!(peer.activity(), Activity::Idle { .. }));
    }
}
