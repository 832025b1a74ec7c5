//! What a TCP socket is asked beside its bytes.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Whether less than half of `TCP_NOTSENT_LOWAT` is unsent, which is when the kernel wakes who waits to write. If not, it will wake.
///
/// That option bounds what `poll` calls writable, and not what `write` takes: Linux fills up the last packet that waits
/// (`tcp_sendmsg_locked`: memory is asked for at a new one alone), which may hold 64 kB for segmentation by the device. On a
/// connection of 1 Mbit/s that is half a second. Who wants the bound kept asks before each write.
pub fn wants_more(socket: BorrowedFd<'_>) -> io::Result<bool> {
    let mut asked = [PollFd::from_borrowed_fd(socket, PollFlags::OUT)];
    // Errors are the write's to tell.
    Ok(poll(&mut asked, Some(&Timespec::default()))? > 0)
}

/// Has the kernel throw away up to `most` bytes that were received; how many, none when nothing waits.
pub fn discard(socket: BorrowedFd<'_>, most: usize) -> io::Result<Option<usize>> {
    // SAFETY: with MSG_TRUNC TCP discards the data instead of copying it (tcp(7)).
    let result = unsafe {
        let flags = libc::MSG_TRUNC | libc::MSG_DONTWAIT;
        libc::recv(socket.as_raw_fd(), std::ptr::null_mut(), most, flags)
    };
    if result >= 0 {
        return Ok(Some(result as usize));
    }
    let error = io::Error::last_os_error();
    match error.kind() {
        io::ErrorKind::WouldBlock => Ok(None),
        _ => Err(error),
    }
}

/// Bytes that were written and that the peer has not acknowledged, sent or not (`SIOCOUTQ`).
pub fn unacknowledged(socket: BorrowedFd<'_>) -> io::Result<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: there is room for the int that it writes.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    match result {
        0 => Ok(u64::try_from(bytes).unwrap_or(0)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Ends the connection at once, whoever else has a handle of the socket: the peer gets a reset, and nothing is sent or resent any longer.
pub fn abort(socket: BorrowedFd<'_>) -> io::Result<()> {
    // To connect to no address dissolves what is connected (connect(2), `tcp_disconnect`).
    Ok(rustix::net::connect_unspec(socket)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp_info::TcpInfo;
    use socket2::SockRef;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        stream.set_nonblocking(true).unwrap();
        (stream, listener.accept().unwrap().0)
    }

    #[test]
    fn a_socket_whose_peer_reads_nothing_wants_no_more_than_its_bound() {
        let (mut stream, _silent) = pair();
        let options = SockRef::from(&stream);
        options.set_send_buffer_size(1 << 20).unwrap();
        options.set_tcp_notsent_lowat(2_000).unwrap();
        assert!(wants_more(stream.as_fd()).unwrap());
        // What the peer's buffer takes is sent; the rest waits.
        while wants_more(stream.as_fd()).unwrap() {
            stream.write_all(&[0; 1_000]).unwrap();
        }
        let unsent = TcpInfo::of(stream.as_fd()).unwrap().unsent();
        assert!(unsent.as_u64() <= 2_000, "{unsent}");
        assert!(unacknowledged(stream.as_fd()).unwrap() >= unsent.as_u64());
        // A write is taken all the same: that is why one asks.
        assert!(stream.write(&[0; 1_000]).is_ok());
    }

    #[test]
    fn what_waits_is_thrown_away_and_counted() {
        let (mut stream, reader) = pair();
        assert_eq!(discard(reader.as_fd(), 100).unwrap(), None);
        stream.write_all(&[7; 150]).unwrap();
        assert_eq!(discard(reader.as_fd(), 100).unwrap(), Some(100));
        assert_eq!(discard(reader.as_fd(), 100).unwrap(), Some(50));
    }

    #[test]
    fn a_connection_that_is_aborted_is_gone_though_others_hold_its_socket() {
        let (stream, mut peer) = pair();
        let handle = stream.as_fd().try_clone_to_owned().unwrap();
        peer.write_all(&[7; 100]).unwrap();
        abort(handle.as_fd()).unwrap();
        let read = peer.read(&mut [0]).unwrap_err();
        assert_eq!(read.kind(), io::ErrorKind::ConnectionReset);
        assert!((&stream).write(&[0]).is_err());
    }
}
