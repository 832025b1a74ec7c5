//! One end of a connection.

use crate::plan::Tcp;
use rustix::io::Errno;
use rustix::net::sockopt::{set_socket_recv_buffer_size_force, set_socket_send_buffer_size_force};
use rustix::net::{SendFlags, send};
use socket2::{Domain, SockAddr, Socket, Type};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;
use unbloat_os::tcp_info::TcpInfo;
use unbloat_os::{sockopt, tcp};
use unbloat_units::Bytes;

/// More than a receive buffer holds, so that one call empties it.
const READ_BYTES: usize = 1 << 28;
/// Connections that wait to be taken.
const BACKLOG: i32 = 1_024;

pub(crate) fn address(host: Ipv4Addr, port: u16) -> SockAddr {
    SockAddr::from(SocketAddrV4::new(host, port))
}

/// Listens for connections of a flow; they inherit what is set here.
pub(crate) fn listen(host: Ipv4Addr, port: u16, tcp: &Tcp, dscp: u8) -> io::Result<Socket> {
    let socket = open(tcp, dscp)?;
    socket.set_reuse_address(true)?;
    socket.bind(&address(host, port))?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

fn open(tcp: &Tcp, dscp: u8) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM.nonblocking(), None)?;
    if let Some(name) = &tcp.congestion_control {
        socket.set_tcp_congestion(name.as_bytes())?;
    }
    // The kernel doubles what it is given, for its own needs; what is meant here is all memory.
    let half = |bytes: Bytes| (bytes.as_u64() / 2).min(i32::MAX as u64) as usize;
    if let Some(bytes) = tcp.send_buffer {
        set_socket_send_buffer_size_force(&socket, half(bytes))?;
    }
    if let Some(bytes) = tcp.receive_buffer {
        set_socket_recv_buffer_size_force(&socket, half(bytes))?;
    }
    if let Some(bytes) = tcp.window_clamp {
        clamp_window(socket.as_fd(), bytes)?;
    }
    if let Some(mss) = tcp.mss {
        socket.set_tcp_mss(mss)?;
    }
    socket.set_tcp_nodelay(true)?;
    if dscp > 0 {
        socket.set_tos_v4(u32::from(dscp) << 2)?;
    }
    Ok(socket)
}

/// The largest window that it offers.
fn clamp_window(socket: BorrowedFd<'_>, window: Bytes) -> io::Result<()> {
    let clamp = u32::try_from(window.as_u64()).unwrap_or(u32::MAX);
    sockopt::set_window_clamp(socket, clamp)
}

/// How many bytes the socket took.
fn send_now(socket: &Socket, bytes: &[u8]) -> io::Result<usize> {
    match send(socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
        Err(Errno::AGAIN) => Ok(0),
        taken => Ok(taken?),
    }
}

/// A socket, and what it has read and has yet to write.
pub(crate) struct End {
    pub(crate) socket: Socket,
    to_write: u64,
    is_writable: bool,
    pub(crate) read: u64,
    wakes_at: i32,
}

impl End {
    pub(crate) fn new(socket: Socket) -> End {
        End {
            socket,
            to_write: 0,
            is_writable: false,
            read: 0,
            wakes_at: 1,
        }
    }

    /// A socket that has begun to connect, from any port.
    pub(crate) fn connect(
        from: Ipv4Addr,
        to: &SockAddr,
        tcp: &Tcp,
        dscp: u8,
    ) -> io::Result<(End, u16)> {
        let socket = open(tcp, dscp)?;
        // The port is chosen with the peer in view, so that ports do not run out.
        sockopt::set_late_port(socket.as_fd())?;
        socket.bind(&address(from, 0))?;
        match socket.connect(to) {
            Err(error) if Errno::from_io_error(&error) != Some(Errno::INPROGRESS) => {
                return Err(error);
            }
            _ => {}
        }
        let local = socket.local_addr()?.as_socket_ipv4();
        let port = local.map_or(0, |address| address.port());
        Ok((End::new(socket), port))
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    pub(crate) fn info(&self) -> Option<TcpInfo> {
        TcpInfo::of(self.fd()).ok()
    }

    /// Says the largest window again: Linux since 6.6 forgets it when packets turn out larger or smaller than it took them for
    /// (`tcp_measure_rcv_mss`).
    pub(crate) fn clamp(&self, tcp: &Tcp) {
        if let Some(window) = tcp.window_clamp {
            // It was accepted when the socket was made.
            let _ = clamp_window(self.fd(), window);
        }
    }

    pub(crate) fn may_write(&mut self) {
        self.is_writable = true;
    }

    /// Adds to what is to be written, and writes what the socket takes.
    pub(crate) fn write(&mut self, bytes: u64, zeros: &[u8]) -> io::Result<()> {
        self.to_write += bytes;
        while self.is_writable && self.to_write > 0 {
            let most = zeros
                .len()
                .min(usize::try_from(self.to_write).unwrap_or(usize::MAX));
            let taken = send_now(&self.socket, &zeros[..most])?;
            self.to_write -= taken as u64;
            self.is_writable = taken == most;
        }
        Ok(())
    }

    /// Reads what is there; how many bytes.
    pub(crate) fn discard(&mut self) -> io::Result<u64> {
        let bytes = tcp::discard(self.fd(), READ_BYTES)?.unwrap_or(0) as u64;
        self.read += bytes;
        Ok(bytes)
    }

    /// So many bytes are still to come: it is woken for `at_least` of them at a time while that is little of the whole, and
    /// for each near the end.
    pub(crate) fn expect(&mut self, to_come: u64, at_least: u64) -> io::Result<()> {
        let is_long = to_come >= at_least.saturating_mul(8);
        let wakes_at = if is_long { at_least as i32 } else { 1 };
        if wakes_at != self.wakes_at {
            self.wakes_at = wakes_at;
            sockopt::set_receive_low_water(self.fd(), wakes_at.max(1))?;
        }
        Ok(())
    }

    /// Closes it by a reset.
    pub(crate) fn abort(self) {
        // If it fails the connection ends by a FIN instead.
        let _ = self.socket.set_linger(Some(Duration::ZERO));
    }

    pub(crate) fn congestion_control(&self) -> Option<String> {
        let name = self.socket.tcp_congestion().ok()?;
        let name = String::from_utf8_lossy(&name);
        Some(name.trim_end_matches('\0').to_owned())
    }
}
