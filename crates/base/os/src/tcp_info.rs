//! The kernel's account of a connection.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use unbloat_units::{Bytes, Delta, Rate};

/// Beyond what we read.
const LENGTH: usize = 256;

/// `struct tcp_info` (include/uapi/linux/tcp.h of 6.12), read by offsets: older kernels leave the later fields zero.
#[derive(Clone, Copy, Debug)]
pub struct TcpInfo([u8; LENGTH]);

impl TcpInfo {
    /// Of a TCP socket, as it is now.
    pub fn of(socket: BorrowedFd<'_>) -> io::Result<TcpInfo> {
        let mut info = TcpInfo([0; LENGTH]);
        let mut length = LENGTH as libc::socklen_t;
        // SAFETY: the kernel writes at most the given length.
        let result = unsafe {
            let to = info.0.as_mut_ptr().cast();
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                to,
                &mut length,
            )
        };
        match result {
            0 => Ok(info),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// As another message of the kernel has it. Old kernels write less; none if even the segment size is missing.
    pub fn read(bytes: &[u8]) -> Option<TcpInfo> {
        let length = bytes.len().min(LENGTH);
        let mut info = TcpInfo([0; LENGTH]);
        info.0[..length].copy_from_slice(&bytes[..length]);
        (length >= 20).then_some(info)
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_ne_bytes(self.0[at..at + 4].try_into().expect("four bytes"))
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_ne_bytes(self.0[at..at + 8].try_into().expect("eight bytes"))
    }

    fn us(&self, at: usize) -> Delta {
        Delta::us(i64::from(self.u32(at)))
    }

    /// Of TCP's congestion state machine, by the kernel's number.
    pub fn congestion_state_number(&self) -> u8 {
        self.0[1]
    }

    /// Of TCP's congestion state machine: open, disorder, CWR, recovery, loss.
    pub fn congestion_state(&self) -> &'static str {
        const NAMES: [&str; 5] = ["open", "disorder", "cwr", "recovery", "loss"];
        NAMES.get(usize::from(self.0[1])).unwrap_or(&"unknown")
    }

    pub fn mss(&self) -> Bytes {
        Bytes::new(u64::from(self.u32(16)))
    }

    fn segments(&self, at: usize) -> Bytes {
        Bytes::new(u64::from(self.u32(at)) * self.mss().as_u64())
    }

    /// Bytes in flight as the kernel computes them (`tcp_packets_in_flight`): unacknowledged, without what was
    /// SACKed or is presumed lost, and with what was retransmitted of that.
    pub fn in_flight(&self) -> Bytes {
        let [unacked, sacked, lost, retransmitted] =
            [24, 28, 32, 36].map(|at| u64::from(self.u32(at)));
        let left_out = sacked + lost;
        let segments = unacked.saturating_sub(left_out) + retransmitted;
        Bytes::new(segments * self.mss().as_u64())
    }

    /// Payload bytes that arrived at the peer, as far as its ACKs say: acknowledged, SACKed behind a hole, and
    /// duplicates (DSACK), which took the path's capacity as well.
    pub fn delivered(&self) -> Bytes {
        self.acked() + self.segments(28) + self.segments(216)
    }

    /// Segments that were sent and not acknowledged, those that were SACKed or lost included.
    pub fn unacked_segments(&self) -> u32 {
        self.u32(24)
    }

    /// What these hold.
    pub fn unacked(&self) -> Bytes {
        self.segments(24)
    }

    pub fn cwnd_segments(&self) -> u32 {
        self.u32(80)
    }

    /// 2^31 - 1 while it is unlimited.
    pub fn ssthresh_segments(&self) -> u32 {
        self.u32(76)
    }

    pub fn cwnd(&self) -> Bytes {
        self.segments(80)
    }

    /// No value while it is unlimited.
    pub fn ssthresh(&self) -> Option<Bytes> {
        (self.u32(76) < 0x7fff_ffff).then(|| self.segments(76))
    }

    /// Smoothed.
    pub fn rtt(&self) -> Delta {
        self.us(68)
    }

    pub fn rtt_variation(&self) -> Delta {
        self.us(72)
    }

    /// No value before the first sample.
    pub fn min_rtt(&self) -> Option<Delta> {
        (self.u32(148) != u32::MAX).then(|| self.us(148))
    }

    pub fn retransmission_timeout(&self) -> Delta {
        self.us(8)
    }

    pub fn retransmissions(&self) -> u64 {
        u64::from(self.u32(100))
    }

    /// Segments that reached the peer more than once, as its D-SACKs say.
    pub fn duplicates(&self) -> u64 {
        u64::from(self.u32(216))
    }

    pub fn timeouts(&self) -> u64 {
        u64::from(u16::from_ne_bytes([self.0[240], self.0[241]]))
    }

    /// Segments with data that were sent, those sent again included.
    pub fn data_segments(&self) -> u64 {
        u64::from(self.u32(156))
    }

    /// Segments that arrived at the peer, as far as is known.
    pub fn delivered_segments(&self) -> u64 {
        u64::from(self.u32(192))
    }

    /// Of these those that were marked.
    pub fn marked_segments(&self) -> u64 {
        u64::from(self.u32(196))
    }

    pub fn received(&self) -> Bytes {
        Bytes::new(self.u64(128))
    }

    /// Segments with data that came, those behind a hole and duplicates included.
    pub fn data_segments_received(&self) -> u64 {
        u64::from(self.u32(152))
    }

    /// Of what was sent, what the peer's kernel has.
    pub fn acked(&self) -> Bytes {
        Bytes::new(self.u64(120))
    }

    pub fn sent(&self) -> Bytes {
        Bytes::new(self.u64(200))
    }

    /// Written and not yet sent.
    pub fn unsent(&self) -> Bytes {
        Bytes::new(u64::from(self.u32(144)))
    }

    /// The window that the peer offers.
    pub fn peer_window(&self) -> Bytes {
        Bytes::new(u64::from(self.u32(228)))
    }

    /// The largest number while it is unlimited.
    pub fn pacing_bytes_per_second(&self) -> u64 {
        self.u64(104)
    }

    pub fn pacing_rate(&self) -> Option<Rate> {
        Self::rate(self.pacing_bytes_per_second())
    }

    pub fn delivery_rate(&self) -> Option<Rate> {
        Self::rate(self.u64(160))
    }

    fn rate(bytes_per_second: u64) -> Option<Rate> {
        (bytes_per_second > 0 && bytes_per_second < u64::MAX / 8)
            .then(|| Rate::bps(bytes_per_second * 8))
    }

    /// For how long it had something to send.
    pub fn busy(&self) -> Delta {
        self.long_us(168)
    }

    /// And of this for how long the peer's window held it back.
    pub fn window_limited(&self) -> Delta {
        self.long_us(176)
    }

    /// And for how long its own send buffer did.
    pub fn buffer_limited(&self) -> Delta {
        self.long_us(184)
    }

    fn long_us(&self, at: usize) -> Delta {
        Delta::us(i64::try_from(self.u64(at)).unwrap_or(i64::MAX / 1_000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of these fields, by their offsets in `struct tcp_info`.
    fn info(fields: &[(usize, u32)]) -> TcpInfo {
        let mut info = TcpInfo([0; LENGTH]);
        for (at, value) in fields {
            info.0[*at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        info
    }

    const MSS: (usize, u32) = (16, 1_000);
    const UNACKED: usize = 24;
    const SACKED: usize = 28;
    const LOST: usize = 32;
    const RETRANSMITTED: usize = 36;
    const ACKED: usize = 120;
    const DUPLICATES: usize = 216;

    #[test]
    fn in_flight_is_without_what_was_sacked_or_lost_and_with_what_was_sent_again() {
        let fields = [
            MSS,
            (UNACKED, 100),
            (SACKED, 60),
            (LOST, 30),
            (RETRANSMITTED, 5),
        ];
        assert_eq!(info(&fields).in_flight(), Bytes::new(15_000));
        // A kernel may count more lost than it has unacknowledged for a moment.
        let odd = [MSS, (UNACKED, 3), (LOST, 4)];
        assert_eq!(info(&odd).in_flight(), Bytes::ZERO);
    }

    #[test]
    fn what_came_behind_a_hole_or_twice_was_delivered() {
        let fields = [MSS, (ACKED, 7_777), (SACKED, 60), (DUPLICATES, 2)];
        assert_eq!(info(&fields).delivered(), Bytes::new(69_777));
    }
}
