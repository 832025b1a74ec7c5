//! Whether a TCP socket wants more, by its own bound on what waits unsent.
//!
//! `TCP_NOTSENT_LOWAT` bounds what `poll` calls writable, and not what `write` takes: Linux fills up the last packet that waits
//! (`tcp_sendmsg_locked`: memory is asked for at a new one alone), which may hold 64 kB for segmentation by the device. On a
//! connection of 1 Mbit/s that is half a second. Who wants the bound kept asks before each write.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Whether less than half of `TCP_NOTSENT_LOWAT` is unsent, which is when the kernel wakes who waits to write. If not, it will wake.
pub fn wants_more(socket: BorrowedFd<'_>) -> io::Result<bool> {
    let mut asked = libc::pollfd {
        fd: socket.as_raw_fd(),
        events: libc::POLLOUT,
        revents: 0,
    };
    // SAFETY: one pollfd is given, which outlives the call.
    let ready = unsafe { libc::poll(&raw mut asked, 1, 0) };
    match ready {
        // Errors are the write's to tell.
        0.. => Ok(ready > 0),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::socket::setsockopt;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn a_socket_whose_peer_reads_nothing_wants_no_more_than_its_bound() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (_silent, _) = listener.accept().unwrap();
        stream.set_nonblocking(true).unwrap();
        let least = nix::sys::socket::sockopt::SndBuf;
        setsockopt(&stream, least, &(1 << 20)).unwrap();
        set_lowat(&stream, 2_000);
        assert!(wants_more(stream.as_fd()).unwrap());
        // What the peer's buffer takes is sent; the rest waits.
        while wants_more(stream.as_fd()).unwrap() {
            stream.write_all(&[0; 1_000]).unwrap();
        }
        let unsent = crate::TcpInfo::of(stream.as_fd()).unwrap().unsent();
        assert!(unsent.as_u64() <= 2_000, "{unsent}");
        // A write is taken all the same: that is why one asks.
        assert!(stream.write(&[0; 1_000]).is_ok());
    }

    fn set_lowat(stream: &TcpStream, bytes: libc::c_int) {
        // SAFETY: the value is an int and its length is given.
        let result = unsafe {
            libc::setsockopt(
                stream.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_NOTSENT_LOWAT,
                (&raw const bytes).cast(),
                4,
            )
        };
        assert_eq!(result, 0);
    }
}
