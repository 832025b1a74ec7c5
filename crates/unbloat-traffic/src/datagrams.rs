//! Datagrams of a flow: number and send time go with each.

use crate::clock::Clock;
use crate::end::address;
use crate::sys;
use nix::errno::Errno;
use socket2::{Domain, Socket, Type};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use unbloat_units::{Bytes, Time};

/// IP and UDP.
const HEADERS: usize = 28;
/// Number and time of sending: so much a datagram carries at least.
const LABEL: usize = 16;
const MOST: usize = 65_507;
/// IP length of the shortest datagram: smaller ones are padded to it, because number and send time go with each.
pub const LEAST_DATAGRAM: Bytes = Bytes::new((HEADERS + LABEL) as u64);
/// Datagrams for one system call.
const BATCH: usize = 32;
/// What waits to be read is not lost for lack of memory.
const RECEIVE_BUFFER: i32 = 4 << 20;

/// One end: bound to a port, connected to the same port of the peer.
pub(crate) struct Port {
    socket: Socket,
}

/// A datagram that arrived.
pub(crate) struct Arrival {
    pub(crate) number: u64,
    pub(crate) sent: Time,
    /// When the kernel had it.
    pub(crate) at: Time,
}

impl Port {
    pub(crate) fn open((from, to): (Ipv4Addr, Ipv4Addr), port: u16, dscp: u8) -> io::Result<Port> {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM.nonblocking(), None)?;
        let set = |name, value| sys::set_option(socket.as_fd(), libc::SOL_SOCKET, name, value);
        set(libc::SO_TIMESTAMPNS, 1)?;
        set(libc::SO_RCVBUFFORCE, RECEIVE_BUFFER)?;
        if dscp > 0 {
            socket.set_tos_v4(u32::from(dscp) << 2)?;
        }
        socket.bind(&address(from, port))?;
        socket.connect(&address(to, port))?;
        Ok(Port { socket })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Sends a datagram of so many IP bytes, as near as the label and UDP allow; false if the kernel would not take it.
    pub(crate) fn send(
        &self,
        number: u64,
        size: Bytes,
        clock: Clock,
        buffer: &mut Vec<u8>,
    ) -> io::Result<bool> {
        let wanted = usize::try_from(size.as_u64()).unwrap_or(MOST);
        buffer.clear();
        buffer.resize(wanted.saturating_sub(HEADERS).clamp(LABEL, MOST), 0);
        buffer[..8].copy_from_slice(&number.to_le_bytes());
        buffer[8..LABEL].copy_from_slice(&clock.now().as_ns().to_le_bytes());
        match self.socket.send(buffer) {
            Ok(_) => Ok(true),
            // The peer's ICMP errors are told at the next call: nobody listened for the last one.
            Err(error) => match Errno::from_raw(error.raw_os_error().unwrap_or(0)) {
                Errno::EAGAIN | Errno::ENOBUFS | Errno::ECONNREFUSED => Ok(false),
                _ => Err(error),
            },
        }
    }

    /// Hands over all datagrams that wait.
    pub(crate) fn receive(&self, clock: Clock, mut take: impl FnMut(Arrival)) -> io::Result<()> {
        let mut labels = [[0u8; LABEL]; BATCH];
        // Aligned as a cmsghdr has to be.
        let mut controls = [[0u64; 8]; BATCH];
        loop {
            // SAFETY: iovec and mmsghdr are plain data, for which zeros are valid.
            let mut parts: [libc::iovec; BATCH] = unsafe { std::mem::zeroed() };
            let mut headers: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
            for i in 0..BATCH {
                parts[i].iov_base = labels[i].as_mut_ptr().cast();
                parts[i].iov_len = LABEL;
                let header = &mut headers[i].msg_hdr;
                header.msg_iov = &raw mut parts[i];
                header.msg_iovlen = 1;
                header.msg_control = controls[i].as_mut_ptr().cast();
                header.msg_controllen = size_of_val(&controls[i]) as _;
            }
            let count = self.receive_batch(&mut headers)?;
            let ahead = clock.wall_ahead();
            for (header, label) in headers.iter().zip(&labels).take(count) {
                if header.msg_len as usize >= LABEL {
                    // SAFETY: the call above wrote it, and nothing else was asked for when the socket was made.
                    let stamp = unsafe { kernel_stamp(&header.msg_hdr) };
                    take(Arrival {
                        number: u64::from_le_bytes(label[..8].try_into().expect("eight bytes")),
                        sent: Time::from_ns(i64::from_le_bytes(
                            label[8..].try_into().expect("eight bytes"),
                        )),
                        at: stamp.map_or_else(|| clock.now(), |wall| wall - ahead),
                    });
                }
            }
            if count < BATCH {
                return Ok(());
            }
        }
    }

    fn receive_batch(&self, headers: &mut [libc::mmsghdr; BATCH]) -> io::Result<usize> {
        // SAFETY: every header points to buffers of its own, which outlive the call.
        let count = unsafe {
            libc::recvmmsg(
                self.socket.as_raw_fd(),
                headers.as_mut_ptr(),
                BATCH as u32,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        };
        match Errno::result(count) {
            Ok(count) => Ok(count as usize),
            Err(Errno::EAGAIN | Errno::ECONNREFUSED) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }
}

/// When the kernel received what was read with this header, by the wall clock.
///
/// # Safety
/// The kernel must have written the header's control messages, into memory that still lives, and the socket must have been
/// asked for `SO_TIMESTAMPNS` and no other of them.
pub unsafe fn kernel_stamp(header: &libc::msghdr) -> Option<Time> {
    // SAFETY: CMSG_FIRSTHDR checks the length of what the caller vouches for; the only message that was asked for holds a
    // timespec.
    let time = unsafe {
        let control = libc::CMSG_FIRSTHDR(header);
        if control.is_null() || (*control).cmsg_type != libc::SCM_TIMESTAMPNS {
            return None;
        }
        libc::CMSG_DATA(control)
            .cast::<libc::timespec>()
            .read_unaligned()
    };
    Some(Time::from_ns(time.tv_sec * 1_000_000_000 + time.tv_nsec))
}
