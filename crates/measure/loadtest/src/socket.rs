//! TCP sockets as tests want them: what has to be set before the connection is there, and what is set while it lives.

use crate::error::TestError;
use crate::flow::Flow;
use crate::options::Options;
use crate::plan::Stack;
use crate::upload::Pace;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpSocket, TcpStream};
use unbloat_os::sockopt;
use unbloat_units::{Bytes, Delta, Rate};

/// Before a path is called dead.
pub const PATIENCE: Duration = Duration::from_secs(15);
/// What may be on its way to us on a connection of HTTP/2 or 3: never what limits it.
pub const WINDOW: u32 = 16 << 20;
/// Unsent data of a connection whose rate nobody knows yet.
const FIRST_UNSENT: u64 = 4 * 1_448;
/// TCP_REPLENISH_TIME of draft-ietf-ippm-responsiveness-09.
const REPLENISH: Delta = Delta::ms(5);

/// What load connections are given.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    congestion_control: Option<String>,
    pub receive_window: Option<u32>,
    /// Of a sender that is held to its rate: what waits above the socket goes by this.
    pub pace: Option<Arc<Pace>>,
}

impl Settings {
    /// The same, for the stack of a flow.
    pub fn for_flow(&self, flow: &Flow) -> Settings {
        Settings {
            pace: (flow.stack == Stack::NetworkOnly).then(|| flow.pace.clone()),
            ..self.clone()
        }
    }

    /// Refuses a congestion control that this kernel does not have before anything is measured.
    pub fn of(options: &Options) -> Result<Settings, TestError> {
        let window = options.receive_window.map(Bytes::as_u64);
        let settings = Settings {
            congestion_control: options.congestion_control.clone(),
            receive_window: window.map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX)),
            pace: None,
        };
        if let Some(name) = &settings.congestion_control {
            let try_it = || {
                Socket::new(Domain::IPV4, Type::STREAM, None)?.set_tcp_congestion(name.as_bytes())
            };
            try_it().map_err(|source| TestError::CongestionControl {
                name: name.clone(),
                available: available_controls(),
                source,
            })?;
        }
        Ok(settings)
    }
}

fn available_controls() -> String {
    let path = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let names = std::fs::read_to_string(path).unwrap_or_default();
    names.trim().to_owned()
}

/// Connects; resets what is not sent when it is closed, so that one stage's data does not stand in the way of the next.
pub async fn connect(to: SocketAddr, settings: &Settings) -> io::Result<TcpStream> {
    let domain = Domain::for_address(to);
    let socket = Socket::new(domain, Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    socket.set_tcp_nodelay(true)?;
    socket.set_linger(Some(Duration::ZERO))?;
    if let Some(name) = &settings.congestion_control {
        socket.set_tcp_congestion(name.as_bytes())?;
    }
    if let Some(window) = settings.receive_window {
        // The buffer first: the kernel then no longer tunes it.
        socket.set_recv_buffer_size(window as usize)?;
        clamp_window(socket.as_fd(), window)?;
    }
    let socket = TcpSocket::from_std_stream(socket.into());
    match tokio::time::timeout(PATIENCE, socket.connect(to)).await {
        Ok(connected) => connected,
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// A handle of the same socket, to ask and to tune it while others use it.
pub fn handle(stream: &TcpStream) -> io::Result<OwnedFd> {
    stream.as_fd().try_clone_to_owned()
}

/// Lets no more than 5 ms of its rate wait unsent in the socket, but two segments in any case: the kernel wakes at half of that, and what
/// waits to become a whole segment must not keep it from doing so.
pub fn limit_unsent(socket: BorrowedFd<'_>, rate: Option<Rate>, segment: Bytes) -> io::Result<u32> {
    let of_rate = rate.map_or(FIRST_UNSENT, |rate| (rate * REPLENISH).as_u64());
    let bytes = of_rate.max(2 * segment.as_u64());
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    SockRef::from(&socket).set_tcp_notsent_lowat(bytes)?;
    Ok(bytes)
}

/// The bound on unsent data that is in force; 0 where none was set.
pub fn unsent_limit(socket: BorrowedFd<'_>) -> u32 {
    SockRef::from(&socket).tcp_notsent_lowat().unwrap_or(0)
}

/// The largest window that it offers. Linux since 6.6 forgets it when packets turn out larger or smaller than it took them for
/// (`tcp_measure_rcv_mss`), so it has to be said again.
pub fn clamp_window(socket: BorrowedFd<'_>, window: u32) -> io::Result<()> {
    sockopt::set_window_clamp(socket, window)
}

/// Lets the rest of a piece wait for more while one such rest is on its way (RFC 896 as Linux has it). Pieces of some kilobytes would each
/// end in a small packet else, and these take the place of large ones in queues.
pub fn gather(socket: BorrowedFd<'_>) -> io::Result<()> {
    SockRef::from(&socket).set_tcp_nodelay(false)
}

/// Which congestion control it has.
pub fn congestion_control(socket: BorrowedFd<'_>) -> Option<String> {
    let name = SockRef::from(&socket).tcp_congestion().ok()?;
    let name = name.split(|&byte| byte == 0).next()?;
    (!name.is_empty()).then(|| String::from_utf8_lossy(name).into_owned())
}
