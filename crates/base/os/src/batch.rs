//! Many packets by one system call: the beginning of each, with the time at which the kernel received it.

use crate::message::{each_control, time};
use libc::{iovec, mmsghdr};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use unbloat_units::Time;

/// A packet that was received.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// Its beginning.
    pub head: &'a [u8],
    /// Bytes of all of it.
    pub length: usize,
    /// By the wall clock, where the socket was asked for it.
    pub stamp: Option<Time>,
}

/// Room for so many packets, of which so many bytes are kept.
pub struct Batch<const PACKETS: usize, const BYTES: usize> {
    heads: [[u8; BYTES]; PACKETS],
    /// Of the whole packets.
    lengths: [usize; PACKETS],
    stamps: [Option<Time>; PACKETS],
    count: usize,
}

impl<const PACKETS: usize, const BYTES: usize> Default for Batch<PACKETS, BYTES> {
    fn default() -> Batch<PACKETS, BYTES> {
        Batch {
            heads: [[0; BYTES]; PACKETS],
            lengths: [0; PACKETS],
            stamps: [None; PACKETS],
            count: 0,
        }
    }
}

impl<const PACKETS: usize, const BYTES: usize> Batch<PACKETS, BYTES> {
    /// Takes what waits, and tells how many that were. If there was room for more, no more waited.
    pub fn receive(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        self.count = 0;
        // Aligned as a cmsghdr has to be.
        let mut controls = [[0_u64; 8]; PACKETS];
        // SAFETY: iovec and mmsghdr are plain data, for which zeros are valid.
        let (mut parts, mut headers): ([iovec; PACKETS], [mmsghdr; PACKETS]) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        for i in 0..PACKETS {
            parts[i].iov_base = self.heads[i].as_mut_ptr().cast();
            parts[i].iov_len = BYTES;
            let header = &mut headers[i].msg_hdr;
            header.msg_iov = &raw mut parts[i];
            header.msg_iovlen = 1;
            header.msg_control = controls[i].as_mut_ptr().cast();
            header.msg_controllen = size_of_val(&controls[i]) as _;
        }
        // SAFETY: every header points to buffers of its own, which outlive the call.
        let count = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                headers.as_mut_ptr(),
                PACKETS as u32,
                // With MSG_TRUNC the length is that of the packet, not of what there was room for.
                (libc::MSG_DONTWAIT | libc::MSG_TRUNC) as _,
                std::ptr::null_mut(),
            )
        };
        if count < 0 {
            let error = io::Error::last_os_error();
            return match error.kind() {
                // The next call reports an ICMP error of the peer, which may be about an earlier packet.
                io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionRefused => Ok(0),
                _ => Err(error),
            };
        }
        self.count = count as usize;
        for (i, header) in headers.iter().enumerate().take(self.count) {
            self.lengths[i] = header.msg_len as usize;
            self.stamps[i] = None;
            let stamp = &mut self.stamps[i];
            // SAFETY: the call above wrote the header's control messages into memory that still lives.
            unsafe {
                each_control(&header.msg_hdr, |level, kind, value| {
                    if (level, kind) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
                        *stamp = time(value);
                    }
                });
            }
        }
        Ok(self.count)
    }

    /// The packets of the last call.
    pub fn packets(&self) -> impl Iterator<Item = Received<'_>> {
        let heads = self.heads.iter().zip(&self.lengths).zip(&self.stamps);
        heads
            .take(self.count)
            .map(|((head, length), stamp)| Received {
                head: &head[..BYTES.min(*length)],
                length: *length,
                stamp: *stamp,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{clock, sockopt};
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    #[test]
    fn packets_come_in_their_order_with_their_times_until_none_waits() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(socket.local_addr().unwrap()).unwrap();
        sockopt::set_receive_stamps(socket.as_fd()).unwrap();
        let before = clock::wall();
        for packet in [&b"first"[..], b"2nd", b"third"] {
            socket.send(packet).unwrap();
        }
        let mut batch = Batch::<2, 4>::default();
        assert_eq!(batch.receive(socket.as_fd()).unwrap(), 2);
        let got: Vec<_> = batch.packets().collect();
        assert_eq!([got[0].head, got[1].head], [&b"firs"[..], b"2nd"]);
        assert_eq!([got[0].length, got[1].length], [5, 3]);
        assert!(got.iter().all(|one| one.stamp.unwrap() >= before));
        assert_eq!(batch.receive(socket.as_fd()).unwrap(), 1);
        assert_eq!(batch.packets().next().unwrap().head, b"thir");
        assert_eq!(batch.receive(socket.as_fd()).unwrap(), 0);
        assert_eq!(batch.packets().count(), 0);
    }
}
