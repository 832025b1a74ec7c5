//! One end of an Ethernet pair, without system calls: packets that came lie in memory that is shared with the kernel, each with
//! the time at which it came, and those that go are handed over many at a time, each with the time at which it is to go.
//!
//! # References
//! `Documentation/networking/packet_mmap.rst` (TPACKET_V2) and `net/sched/sch_fq.c` of Linux 6.12: the queue discipline `fq`
//! keeps each packet until the time that its socket gave it (`SO_TXTIME`).

use crate::port::Device;
use std::cell::{Cell, RefCell};
use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU32, Ordering};
use unbloat_units::Time;

/// Room of a packet in the ring; with its headers of the ring a packet of Ethernet's MTU fits.
const SLOT: usize = 2048;
const SLOTS: usize = 4096;
const BLOCK: usize = 1 << 16;
/// Packets that are handed over in one call, as many as the kernel takes.
const MOST: usize = 1024;
/// What the socket may hold: more than any path.
const SEND_ROOM: libc::c_int = 1 << 30;
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
const SO_TXTIME: libc::c_int = 61;
/// A control message with one time.
const CONTROL: usize = 24;

/// A packet socket on a device.
pub(crate) struct Ring {
    fd: OwnedFd,
    memory: *mut u8,
    /// The slot that the kernel fills next, or has filled.
    head: Cell<usize>,
    /// Who is at the other end.
    peer: libc::sockaddr_ll,
    /// What the ring's clock (CLOCK_REALTIME) shows at the run's zero, and CLOCK_MONOTONIC.
    zeros: [i64; 2],
    /// Whether the next packet may be read.
    may_read: Cell<bool>,
    /// When the packet came that was read last.
    came: Cell<Time>,
    bytes: RefCell<Vec<u8>>,
    /// Of the packets that go: where they begin in `bytes`, and when they go.
    going: RefCell<Vec<(usize, Time)>>,
}

// SAFETY: the memory belongs to this value alone, and is used through it only.
unsafe impl Send for Ring {}

impl Ring {
    /// On a device of the calling thread's namespace, at whose other end is `peer`.
    pub(crate) fn open(device: &str, peer: [u8; 6]) -> io::Result<Ring> {
        let protocol = (libc::ETH_P_IP as u16).to_be();
        // SAFETY: the call takes numbers; the descriptor is new and owned by nobody else.
        let fd = unsafe {
            let kind = libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
            OwnedFd::from_raw_fd(checked(libc::socket(libc::AF_PACKET, kind, 0))?)
        };
        let name = std::ffi::CString::new(device).map_err(io::Error::other)?;
        // SAFETY: an all-zero sockaddr_ll is a valid value; the name ends with a zero.
        let (mut address, index): (libc::sockaddr_ll, _) =
            unsafe { (std::mem::zeroed(), libc::if_nametoindex(name.as_ptr())) };
        if index == 0 {
            return Err(io::Error::last_os_error());
        }
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol;
        address.sll_ifindex = index as i32;
        set(&fd, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &1_i32)?;
        set(&fd, libc::SOL_PACKET, libc::PACKET_VERSION, &1_i32)?;
        let (blocks, per_block) = (SLOT * SLOTS / BLOCK, BLOCK / SLOT);
        let request = [BLOCK, blocks, SLOT, blocks * per_block].map(|n| n as u32);
        set(&fd, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        set(
            &fd,
            libc::SOL_SOCKET,
            SO_TXTIME,
            &[libc::CLOCK_MONOTONIC, 0],
        )?;
        set(&fd, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &SEND_ROOM)?;
        // SAFETY: the kernel chooses the place of new memory; the address is a sockaddr_ll, whose length is given.
        let memory = unsafe {
            let size = size_of::<libc::sockaddr_ll>() as u32;
            checked(libc::bind(
                fd.as_raw_fd(),
                (&raw const address).cast(),
                size,
            ))?;
            let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
            let none = std::ptr::null_mut();
            libc::mmap(none, SLOT * SLOTS, access, kind, fd.as_raw_fd(), 0)
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // A command that is started meanwhile has no use for it, and User Mode Linux cannot undo a copy.
        // SAFETY: the mapping was made above, and lives as long as this ring.
        unsafe { libc::madvise(memory, SLOT * SLOTS, libc::MADV_DONTFORK) };
        address.sll_halen = peer.len() as u8;
        address.sll_addr[..peer.len()].copy_from_slice(&peer);
        Ok(Ring {
            fd,
            memory: memory.cast(),
            head: Cell::new(0),
            peer: address,
            zeros: [0; 2],
            may_read: Cell::new(false),
            came: Cell::new(Time::from_ns(0)),
            bytes: RefCell::default(),
            going: RefCell::default(),
        })
    }

    /// Times count from there on.
    pub(crate) fn set_zero(&mut self, monotonic_ns: i64) {
        let apart = crate::clock::realtime_ns() - crate::clock::monotonic_ns();
        self.zeros = [monotonic_ns + apart, monotonic_ns];
    }

    pub(crate) fn raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// When the next packet came, if there is one.
    pub(crate) fn next_came(&self) -> Option<Time> {
        let header = self.slot();
        // SAFETY: the slot lies in the ring, and its status is a 32-bit word that the kernel writes last.
        let status = unsafe { AtomicU32::from_ptr(&raw mut (*header).tp_status) };
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: a slot with that status is ours until it is given back.
        let (seconds, ns) = unsafe { ((*header).tp_sec, (*header).tp_nsec) };
        let at = i64::from(seconds) * 1_000_000_000 + i64::from(ns);
        Some(Time::from_ns(at - self.zeros[0]))
    }

    /// When the packet came that was read last.
    pub(crate) fn came(&self) -> Time {
        self.came.get()
    }

    /// Hands over what was written; how many packets the kernel did not take.
    pub(crate) fn send(&self) -> usize {
        let (mut bytes, mut going) = (self.bytes.borrow_mut(), self.going.borrow_mut());
        let mut refused = 0;
        for batch in 0..going.len().div_ceil(MOST) {
            let range = batch * MOST..going.len().min((batch + 1) * MOST);
            refused += self.send_batch(&mut bytes, &going, range);
        }
        going.clear();
        bytes.clear();
        refused
    }

    fn send_batch(
        &self,
        bytes: &mut [u8],
        going: &[(usize, Time)],
        range: std::ops::Range<usize>,
    ) -> usize {
        let end = bytes.len();
        let mut parts = Vec::with_capacity(range.len());
        let mut controls = Vec::with_capacity(range.len());
        for nth in range {
            let (begin, due) = going[nth];
            let end = going.get(nth + 1).map_or(end, |(next, _)| *next);
            parts.push(libc::iovec {
                iov_base: bytes[begin..end].as_mut_ptr().cast(),
                iov_len: end - begin,
            });
            controls.push(control(due.as_ns() + self.zeros[1]));
        }
        let both = parts.iter_mut().zip(&mut controls);
        let mut messages: Vec<libc::mmsghdr> = both
            .map(|(part, control)| {
                // SAFETY: an all-zero mmsghdr is a valid value of this plain C struct.
                let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
                let header = &mut message.msg_hdr;
                header.msg_name = (&raw const self.peer).cast_mut().cast();
                header.msg_namelen = size_of::<libc::sockaddr_ll>() as u32;
                header.msg_iov = part;
                header.msg_iovlen = 1;
                header.msg_control = control.as_mut_ptr().cast();
                header.msg_controllen = CONTROL;
                message
            })
            .collect();
        let (mut next, mut refused) = (0, 0);
        while next < messages.len() {
            let left = &mut messages[next..];
            // SAFETY: every header points to memory that lives for the call.
            let sent =
                unsafe { libc::sendmmsg(self.raw_fd(), left.as_mut_ptr(), left.len() as u32, 0) };
            match usize::try_from(sent) {
                Ok(sent) if sent > 0 => next += sent,
                // The first of them was refused; those behind it may pass.
                _ => (next, refused) = (next + 1, refused + 1),
            }
        }
        refused
    }

    /// Packets that found no place in the ring since it was last asked.
    pub(crate) fn drops(&self) -> u64 {
        let mut counts = [0_u32; 2];
        let mut size = size_of_val(&counts) as libc::socklen_t;
        // SAFETY: the kernel writes at most the given length.
        unsafe {
            let to = counts.as_mut_ptr().cast();
            libc::getsockopt(
                self.raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                to,
                &raw mut size,
            );
        }
        u64::from(counts[1])
    }

    fn slot(&self) -> *mut libc::tpacket2_hdr {
        // SAFETY: the head is below the number of slots.
        unsafe { self.memory.add(self.head.get() * SLOT).cast() }
    }
}

impl Device for Ring {
    fn has_header(&self) -> bool {
        false
    }

    fn read(&self, room: &mut [u8]) -> io::Result<usize> {
        let came = self.next_came().filter(|_| self.may_read.take());
        let came = came.ok_or(io::ErrorKind::WouldBlock)?;
        let header = self.slot();
        // SAFETY: the slot is ours, and the kernel wrote offset and length of what it put there.
        let len = unsafe {
            let (at, len) = ((*header).tp_net as usize, (*header).tp_snaplen as usize);
            let len = len.min(room.len()).min(SLOT.saturating_sub(at));
            std::ptr::copy_nonoverlapping(header.cast::<u8>().add(at), room.as_mut_ptr(), len);
            let status = AtomicU32::from_ptr(&raw mut (*header).tp_status);
            status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
            len
        };
        self.head.set((self.head.get() + 1) % SLOTS);
        self.came.set(came);
        Ok(len)
    }

    fn let_read(&self) {
        self.may_read.set(true);
    }

    fn write(&self, parts: &[IoSlice<'_>], due: Time) -> bool {
        let mut bytes = self.bytes.borrow_mut();
        self.going.borrow_mut().push((bytes.len(), due));
        for part in parts {
            bytes.extend_from_slice(part);
        }
        true
    }

    fn leaves_at(&self, now: Time, due: Time) -> Time {
        now.max(due)
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the memory was mapped with that length, and nothing refers to it any more.
        unsafe { libc::munmap(self.memory.cast(), SLOT * SLOTS) };
    }
}

/// A control message that says when a packet goes: length, level and type, time.
fn control(at_ns: i64) -> [u8; CONTROL] {
    let mut control = [0; CONTROL];
    control[..8].copy_from_slice(&CONTROL.to_ne_bytes());
    control[8..12].copy_from_slice(&libc::SOL_SOCKET.to_ne_bytes());
    control[12..16].copy_from_slice(&SO_TXTIME.to_ne_bytes());
    control[16..].copy_from_slice(&at_ns.to_ne_bytes());
    control
}

fn set<T>(fd: &OwnedFd, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
    let size = size_of::<T>() as libc::socklen_t;
    // SAFETY: the value lives for the call, and its size is given.
    let result = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(value).cast(),
            size,
        )
    };
    checked(result).map(|_| ())
}

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    match result {
        ..0 => Err(io::Error::last_os_error()),
        _ => Ok(result),
    }
}
