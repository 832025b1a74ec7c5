//! Asks on every network of this host, and listens for a moment.

use crate::answers::{Answers, LONGEST, Link, PORT, Server};
use if_addrs::{IfAddr, Interface, get_if_addrs};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use socket2::{Domain, InterfaceIndexOrAddress, Protocol, Socket, Type};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::time::{Duration, Instant};
use tracing::debug;

const GROUP: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 251);
/// When it is asked. An answer that was given less than a second ago is not given again (RFC 6762, section 6).
const ASKS: [Duration; 2] = [Duration::ZERO, Duration::from_millis(1100)];
/// By then the second question is answered, which takes an eighth of a second. Longer is waited only while nobody has answered.
const ENOUGH: Duration = Duration::from_millis(1500);
const PATIENCE: Duration = Duration::from_millis(2500);
/// Hosts with more networks ask on the first ones.
const MOST_LINKS: usize = 16;

#[derive(Debug, thiserror::Error)]
pub enum FindError {
    #[error("cannot list the network interfaces: {0}")]
    Interfaces(io::Error),
    #[error(
        "a server on the local network is looked for over IPv4, and no network interface has an IPv4 address; name the server: unbloat test HOST"
    )]
    NoInterface,
    #[error("cannot listen for answers of multicast DNS on UDP port 5353: {0}")]
    Listen(io::Error),
}

/// The servers that answer within two and a half seconds; sooner if one does.
pub fn find() -> Result<Vec<Server>, FindError> {
    let doors = doors()?;
    let begun = Instant::now();
    let mut answers = Answers::default();
    let mut asks = ASKS.into_iter().peekable();
    let mut datagram = vec![0; LONGEST];
    loop {
        let passed = begun.elapsed();
        if asks.next_if(|at| *at <= passed).is_some() {
            let question = answers.question();
            doors.iter().for_each(|door| door.ask(&question));
        }
        let end = match answers.servers().is_empty() {
            true => PATIENCE,
            false => ENOUGH,
        };
        if passed >= end {
            return Ok(answers.servers());
        }
        let next = asks.peek().map_or(end, |at| end.min(*at));
        for door in wait(&doors, next.saturating_sub(passed)) {
            // Errors are of sent questions.
            if let Ok((length, SocketAddr::V4(from))) = door.socket.recv_from(&mut datagram) {
                answers.take(&datagram[..length], from, door.link);
            }
        }
    }
}

/// A socket on one network.
struct Door {
    name: String,
    link: Link,
    socket: UdpSocket,
}

impl Door {
    fn open(name: &str, index: u32, link: Link) -> io::Result<Door> {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
        // Beside a responder of this host.
        socket.set_reuse_address(true)?;
        socket.set_nonblocking(true)?;
        socket.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT)).into())?;
        // Only what comes by this interface: the kernel gives a socket the groups of all sockets otherwise.
        socket.set_multicast_all_v4(false)?;
        socket.join_multicast_v4_n(&GROUP, &InterfaceIndexOrAddress::Index(index))?;
        socket.set_multicast_if_v4(&link.address)?;
        // RFC 6762, section 11.
        socket.set_multicast_ttl_v4(255)?;
        Ok(Door {
            name: name.to_owned(),
            link,
            socket: socket.into(),
        })
    }

    fn ask(&self, question: &[u8]) {
        let sent = self
            .socket
            .send_to(question, SocketAddrV4::new(GROUP, PORT));
        debug!(
            interface = self.name,
            error = sent.err().map(tracing::field::display),
            "asked for servers"
        );
    }
}

/// One for each network; interfaces that do not take part (no multicast) are passed over.
fn doors() -> Result<Vec<Door>, FindError> {
    let interfaces = get_if_addrs().map_err(FindError::Interfaces)?;
    let mut doors = Vec::new();
    let mut failure = None;
    for (name, index, link) in interfaces.iter().filter_map(network).take(MOST_LINKS) {
        match Door::open(name, index, link) {
            Ok(door) => doors.push(door),
            Err(error) => failure = Some(error),
        }
    }
    match (doors.is_empty(), failure) {
        (false, _) => Ok(doors),
        (true, Some(error)) => Err(FindError::Listen(error)),
        (true, None) => Err(FindError::NoInterface),
    }
}

fn network(interface: &Interface) -> Option<(&str, u32, Link)> {
    let IfAddr::V4(own) = &interface.addr else {
        return None;
    };
    let link = Link {
        address: own.ip,
        mask: own.netmask,
    };
    let is_usable = !own.ip.is_loopback() && interface.is_oper_up();
    is_usable.then_some((&interface.name, interface.index?, link))
}

/// Those that have something to read.
fn wait(doors: &[Door], span: Duration) -> impl Iterator<Item = &Door> {
    let fds = doors.iter();
    let mut fds: Vec<_> = fds
        .map(|door| PollFd::new(&door.socket, PollFlags::IN))
        .collect();
    let span = Timespec::try_from(span).unwrap_or_default();
    let is_ready = match poll(&mut fds, Some(&span)) {
        Ok(_) | Err(Errno::INTR) => fds.iter().map(|fd| !fd.revents().is_empty()).collect(),
        Err(_) => Vec::new(),
    };
    doors
        .iter()
        .zip(is_ready)
        .filter_map(|(door, is_ready)| is_ready.then_some(door))
}
