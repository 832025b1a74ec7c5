//! The kernel's side of live capture: an AF_PACKET socket and the ring it shares with us.
//!
//! All unsafe code of this crate stands here: system calls that take pointers, and memory that
//! the kernel writes to. A block of the ring belongs to one side at a time, as its status word
//! says; bytes are lent out only of a block that is ours, and through `&self` or `&mut self`, so
//! that none are left when it is given back.

use super::LiveOptions;
use std::ffi::CString;
use std::io;
use std::mem::{offset_of, size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};
use unbloat_units::Delta;

/// A system call that failed, and what it was for.
#[derive(Debug)]
pub(super) struct RingError {
    pub(super) action: &'static str,
    pub(super) source: io::Error,
}

pub(super) struct Ring {
    socket: OwnedFd,
    memory: NonNull<u8>,
    blocks: usize,
    block_size: usize,
    current: usize,
    /// Whether the current block is ours.
    held: bool,
}

// SAFETY: the memory is this ring's alone, and its methods need `&mut` to change owners.
unsafe impl Send for Ring {}

/// A block is handed over when it is full or [`RETIRE_MS`] old, so their number says how long we may be late: 0.6 s.
const BLOCKS: usize = 32;
/// The smallest one holds the largest packet.
const LEAST_BLOCK: usize = 1 << 17;
const MOST_BLOCK: usize = 1 << 20;
/// Every multiple of 16 will do: in TPACKET_V3 packets are packed without regard to frames.
const FRAME_SIZE: usize = 2048;
/// A block that is not full is handed over after so long: what live display lags behind.
const RETIRE_MS: u32 = 20;
/// After so long every packet that came was handed over, even if the timer of its block was late.
pub(super) const LATEST: Delta = Delta::ms(5 * RETIRE_MS as i64);
/// Room before each frame for the tag that was taken off.
const VLAN_TAG: libc::c_uint = 4;

const STATUS: usize =
    offset_of!(libc::tpacket_block_desc, hdr) + offset_of!(libc::tpacket_hdr_v1, block_status);

impl Ring {
    /// Everything is set before the socket is bound, so that no packet of another interface or
    /// of another length comes in between.
    pub(super) fn open(
        index: libc::c_int,
        with_link_header: bool,
        options: &LiveOptions,
    ) -> Result<Ring, RingError> {
        let kind = if with_link_header {
            libc::SOCK_RAW
        } else {
            libc::SOCK_DGRAM
        };
        let socket = open_socket(kind)?;
        let version = libc::tpacket_versions::TPACKET_V3 as libc::c_int;
        set(
            &socket,
            libc::PACKET_VERSION,
            &version,
            "choosing TPACKET_V3",
        )?;
        set(
            &socket,
            libc::PACKET_RESERVE,
            &VLAN_TAG,
            "reserving room for VLAN tags",
        )?;
        let room = options.ring.as_u64() as usize;
        // A power of two is a multiple of a page and of a frame.
        let block_size = (room / BLOCKS)
            .clamp(LEAST_BLOCK, MOST_BLOCK)
            .next_power_of_two();
        let blocks = (room / block_size).max(2);
        let request = libc::tpacket_req3 {
            tp_block_size: block_size as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: FRAME_SIZE as u32,
            tp_frame_nr: (blocks * block_size / FRAME_SIZE) as u32,
            tp_retire_blk_tov: RETIRE_MS,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        set(
            &socket,
            libc::PACKET_RX_RING,
            &request,
            "allocating the ring",
        )?;
        limit_length(&socket, options.snap_len)?;
        let memory = map(&socket, blocks * block_size)?;
        let ring = Ring {
            socket,
            memory,
            blocks,
            block_size,
            current: 0,
            held: false,
        };
        if options.promiscuous {
            ring.see_everything(index)?;
        }
        ring.bind(index)?;
        Ok(ring)
    }

    /// Promiscuous until the socket is closed; the kernel counts who wants it.
    fn see_everything(&self, index: libc::c_int) -> Result<(), RingError> {
        // SAFETY: an all-zero `packet_mreq` is a valid one.
        let mut request: libc::packet_mreq = unsafe { zeroed() };
        request.mr_ifindex = index;
        request.mr_type = libc::PACKET_MR_PROMISC as libc::c_ushort;
        let action = "switching to promiscuous mode";
        set(&self.socket, libc::PACKET_ADD_MEMBERSHIP, &request, action)
    }

    fn bind(&self, index: libc::c_int) -> Result<(), RingError> {
        // SAFETY: an all-zero `sockaddr_ll` is a valid one.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as libc::c_ushort;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index;
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the address lives through the call and has the length given.
        let done =
            unsafe { libc::bind(self.socket.as_raw_fd(), (&raw const address).cast(), length) };
        check(done, "binding to the interface").map(|_| ())
    }

    /// Has the kernel put no more packets into the ring.
    pub(super) fn refuse(&self) -> Result<(), RingError> {
        limit_length(&self.socket, 0)
    }

    /// Takes the next block if the kernel is done with it.
    pub(super) fn take(&mut self) -> bool {
        // Acquire: what the kernel wrote before the status is seen after it.
        self.held = self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER != 0;
        self.held
    }

    /// Gives the current block back, if it is ours, and moves on to the next.
    pub(super) fn release(&mut self) {
        if self.held {
            self.held = false;
            // Release: our last reads are done before the kernel writes again.
            self.status()
                .store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.current = (self.current + 1) % self.blocks;
        }
    }

    /// The current block, if it is ours.
    pub(super) fn block(&self) -> Option<&[u8]> {
        // SAFETY: block `current` lies within the mapping and, being held, is not written to by
        // the kernel; giving it back takes `&mut self`.
        self.held
            .then(|| unsafe { std::slice::from_raw_parts(self.start().as_ptr(), self.block_size) })
    }

    pub(super) fn block_mut(&mut self) -> Option<&mut [u8]> {
        // SAFETY: as for `block`, and `&mut self` excludes other borrows.
        self.held.then(|| unsafe {
            std::slice::from_raw_parts_mut(self.start().as_ptr(), self.block_size)
        })
    }

    /// Waits for a packet, a signal or the time-out.
    pub(super) fn wait(&self, timeout: Delta) -> Result<(), RingError> {
        let mut poll = libc::pollfd {
            fd: self.socket.as_raw_fd(),
            events: libc::POLLIN | libc::POLLERR,
            revents: 0,
        };
        let timeout_ms = timeout.as_ms().ceil() as libc::c_int;
        // SAFETY: one `pollfd` is given and one is counted.
        let count = unsafe { libc::poll(&raw mut poll, 1, timeout_ms) };
        match check(count, "waiting for packets") {
            Err(error) if error.source.kind() != io::ErrorKind::Interrupted => Err(error),
            _ if poll.revents & libc::POLLERR != 0 => self.pending_error(),
            _ => Ok(()),
        }
    }

    /// What the socket has to complain of: the interface went down, or is gone.
    fn pending_error(&self) -> Result<(), RingError> {
        let code: libc::c_int = get(&self.socket, libc::SOL_SOCKET, libc::SO_ERROR).unwrap_or(0);
        if code == 0 {
            return Ok(());
        }
        let source = io::Error::from_raw_os_error(code);
        Err(RingError {
            action: "receiving packets",
            source,
        })
    }

    /// Packets that found the ring full since the last call: asking resets the kernel's count.
    pub(super) fn new_drops(&self) -> u64 {
        get::<libc::tpacket_stats_v3>(&self.socket, libc::SOL_PACKET, libc::PACKET_STATISTICS)
            .map_or(0, |stats| u64::from(stats.tp_drops))
    }

    fn start(&self) -> NonNull<u8> {
        // SAFETY: `current` is less than the number of blocks mapped.
        unsafe { self.memory.add(self.current * self.block_size) }
    }

    fn status(&mut self) -> &AtomicU32 {
        // SAFETY: the word lies within the mapping and is aligned as blocks are by pages; the
        // kernel accesses it atomically too; `&mut self` excludes slices of the block.
        unsafe { AtomicU32::from_ptr(self.start().add(STATUS).as_ptr().cast()) }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: mapped with this length in `open`; nothing borrowed from it is left.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.blocks * self.block_size) };
    }
}

/// The number that the kernel knows an interface by.
pub(super) fn interface_index(interface: &str) -> Option<libc::c_int> {
    let name = CString::new(interface).ok()?;
    // SAFETY: the name ends in zero and lives through the call.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    libc::c_int::try_from(index).ok().filter(|&index| index > 0)
}

/// The ARPHRD_ number of an interface that exists.
pub(super) fn hardware_type(interface: &str) -> Result<u16, RingError> {
    // Any socket will do to ask, and this one needs no capability.
    // SAFETY: no pointers are passed.
    let raw = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    let socket = owned(raw, "opening a socket to ask for its hardware type")?;
    // SAFETY: an all-zero `ifreq` is a valid one.
    let mut request: libc::ifreq = unsafe { zeroed() };
    let room = request.ifr_name.len() - 1;
    for (place, byte) in request.ifr_name[..room].iter_mut().zip(interface.bytes()) {
        *place = byte as libc::c_char;
    }
    // SAFETY: SIOCGIFHWADDR reads and writes one `ifreq`, whose name ends in zero.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFHWADDR, &raw mut request) };
    check(done, "asking for its hardware type")?;
    // SAFETY: the call has succeeded, so this is the member that it filled.
    Ok(unsafe { request.ifr_ifru.ifru_hwaddr.sa_family })
}

/// Bound to no protocol yet, so nothing is received.
fn open_socket(kind: libc::c_int) -> Result<OwnedFd, RingError> {
    // SAFETY: no pointers are passed.
    let raw = unsafe { libc::socket(libc::AF_PACKET, kind | libc::SOCK_CLOEXEC, 0) };
    owned(raw, "opening a packet socket")
}

fn owned(raw: libc::c_int, action: &'static str) -> Result<OwnedFd, RingError> {
    check(raw, action)?;
    // SAFETY: a descriptor that the kernel has just given us and nobody else knows.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// Has the kernel keep no more of a packet: a socket filter's result is the length to keep. With zero, it does not take the packet at all.
fn limit_length(socket: &OwnedFd, snap_len: u32) -> Result<(), RingError> {
    let mut filter = libc::sock_filter {
        code: (libc::BPF_RET | libc::BPF_K) as u16,
        jt: 0,
        jf: 0,
        k: snap_len,
    };
    let program = libc::sock_fprog {
        len: 1,
        filter: &raw mut filter,
    };
    let action = "setting the snap length";
    set_at(
        socket,
        libc::SOL_SOCKET,
        libc::SO_ATTACH_FILTER,
        &program,
        action,
    )
}

fn map(socket: &OwnedFd, length: usize) -> Result<NonNull<u8>, RingError> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at a place of the kernel's choice.
    let memory = unsafe {
        libc::mmap(
            null_mut(),
            length,
            access,
            libc::MAP_SHARED,
            socket.as_raw_fd(),
            0,
        )
    };
    if memory == libc::MAP_FAILED {
        return Err(RingError {
            action: "mapping the ring",
            source: io::Error::last_os_error(),
        });
    }
    // A process that is started meanwhile has no use for it, and User Mode Linux cannot undo a copy.
    // SAFETY: the mapping was made above, and this process keeps it.
    unsafe { libc::madvise(memory, length, libc::MADV_DONTFORK) };
    NonNull::new(memory.cast()).ok_or_else(|| RingError {
        action: "mapping the ring",
        source: io::Error::other("mapped at address zero"),
    })
}

fn set<T>(
    socket: &OwnedFd,
    option: libc::c_int,
    value: &T,
    action: &'static str,
) -> Result<(), RingError> {
    set_at(socket, libc::SOL_PACKET, option, value, action)
}

fn set_at<T>(
    socket: &OwnedFd,
    level: libc::c_int,
    option: libc::c_int,
    value: &T,
    action: &'static str,
) -> Result<(), RingError> {
    let (pointer, length) = (
        (&raw const *value).cast(),
        size_of::<T>() as libc::socklen_t,
    );
    // SAFETY: the kernel reads `length` bytes of a value that lives through the call.
    let done = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, pointer, length) };
    check(done, action).map(|_| ())
}

/// Only for `T` of integers: the kernel may fill in less than all of it, and zeros must be valid.
fn get<T>(socket: &OwnedFd, level: libc::c_int, option: libc::c_int) -> Option<T> {
    // SAFETY: see above.
    let mut value: T = unsafe { zeroed() };
    let mut length = size_of::<T>() as libc::socklen_t;
    let pointer = (&raw mut value).cast();
    // SAFETY: the kernel writes at most `length` bytes, which the value has.
    let done =
        unsafe { libc::getsockopt(socket.as_raw_fd(), level, option, pointer, &raw mut length) };
    (done == 0).then_some(value)
}

fn check(result: libc::c_int, action: &'static str) -> Result<libc::c_int, RingError> {
    if result < 0 {
        return Err(RingError {
            action,
            source: io::Error::last_os_error(),
        });
    }
    Ok(result)
}
