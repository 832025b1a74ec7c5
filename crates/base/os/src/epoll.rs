//! Waiting for many sockets, with timeouts in nanoseconds (Linux 5.11).

use rustix::event::epoll::{self, CreateFlags, EventData};
pub use rustix::event::epoll::{Event, EventFlags};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use unbloat_units::Delta;

/// How many events are taken at once.
const EVENTS: usize = 64;

#[derive(Debug)]
pub struct Epoll(OwnedFd);

impl Epoll {
    pub fn new() -> io::Result<Epoll> {
        Ok(Epoll(epoll::create(CreateFlags::CLOEXEC)?))
    }

    /// Events of this descriptor carry `data`.
    pub fn add(&self, what: impl AsFd, flags: EventFlags, data: u64) -> io::Result<()> {
        Ok(epoll::add(&self.0, what, EventData::new_u64(data), flags)?)
    }

    /// Waits for events, at most so long; a signal ends it early, without events.
    pub fn wait(&self, most: Option<Delta>) -> io::Result<impl Iterator<Item = Event> + use<>> {
        let timeout = most
            .map(|most| most.as_ns().max(0))
            .map(|ns| libc::timespec {
                tv_sec: ns / 1_000_000_000,
                tv_nsec: ns % 1_000_000_000,
            });
        let timeout = timeout
            .as_ref()
            .map_or(std::ptr::null(), std::ptr::from_ref);
        let none = Event {
            flags: EventFlags::empty(),
            data: EventData::new_u64(0),
        };
        let mut events = [none; EVENTS];
        // SAFETY: rustix's event is the kernel's; it writes at most as many as there is room for.
        let count = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.0.as_raw_fd(),
                events.as_mut_ptr(),
                EVENTS as libc::c_int,
                timeout,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        let count = match count {
            0.. => count as usize,
            _ => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => 0,
                error => return Err(error),
            },
        };
        Ok(events.into_iter().take(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::monotonic;
    use std::net::UdpSocket;

    #[test]
    fn what_can_be_read_is_told_with_its_number_and_else_time_passes() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let epoll = Epoll::new().unwrap();
        epoll.add(&socket, EventFlags::IN, 7 << 40).unwrap();
        let begun = monotonic();
        assert_eq!(epoll.wait(Some(Delta::us(300))).unwrap().count(), 0);
        assert!(monotonic().since(begun) >= Delta::us(300));
        socket.send_to(b"x", socket.local_addr().unwrap()).unwrap();
        let events: Vec<_> = epoll.wait(None).unwrap().collect();
        assert_eq!(events.len(), 1);
        assert_eq!(events[0].data.u64(), 7 << 40);
        let flags = events[0].flags;
        assert!(flags.contains(EventFlags::IN));
    }
}
