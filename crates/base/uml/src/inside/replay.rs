//! UDP packets at given times.

use super::bed::{Bed, RECEIVER, SENDER};
use super::fault::{Doing, Fault, fault};
use super::socket;
use super::tap::UDP_PORTS;
use crate::scenario::Arrival;
use rustix::net::sockopt::set_socket_send_buffer_size_force;
use rustix::process::{Resource, Rlimit, setrlimit};
use socket2::Socket;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;

/// Headers of IP and UDP.
const HEADERS: u16 = 28;
const FLOWS: u16 = 1000;
const SINK_PORT: u16 = 7000;
/// A packet counts for the socket until it leaves the queue, which may hold thousands.
const ROOM_BYTES: usize = 1 << 30;

pub(crate) struct Replay {
    flows: BTreeMap<u16, (Socket, u8)>,
    /// Receives and never reads, so that no ICMP goes back.
    _sink: Socket,
}

impl Replay {
    pub(crate) fn new(bed: &Bed, arrivals: &[Arrival]) -> Result<Replay, Fault> {
        let many = Rlimit {
            current: Some(4096),
            maximum: Some(4096),
        };
        setrlimit(Resource::Nofile, many).doing(|| "allowing many sockets".to_owned())?;
        bed.receiver.enter()?;
        let sink = socket::udp()?;
        sink.bind(&socket::address(RECEIVER, SINK_PORT))
            .doing(|| "binding the sink".to_owned())?;
        bed.sender.enter()?;
        let mut flows = BTreeMap::new();
        for arrival in arrivals {
            let (flow, length) = (arrival.flow, arrival.ip_bytes);
            if flow >= FLOWS || !(HEADERS..=1500).contains(&length) {
                let what = format!("an arrival of flow {flow} with {length} bytes");
                return Err(fault(
                    what,
                    "flows go to 999, IP packets from 28 to 1500 bytes",
                ));
            }
            if let Entry::Vacant(place) = flows.entry(flow) {
                place.insert((open(flow).doing(|| format!("opening flow {flow}"))?, 0));
            }
        }
        Ok(Replay { flows, _sink: sink })
    }

    pub(crate) fn send(&mut self, arrival: &Arrival) -> Result<(), Fault> {
        let zeros = [0; 1500];
        let (socket, ecn) = self.flows.get_mut(&arrival.flow).expect("all were opened");
        let mut send = || {
            if *ecn != arrival.ecn {
                socket.set_tos_v4(arrival.ecn.into())?;
                *ecn = arrival.ecn;
            }
            socket.send(&zeros[..usize::from(arrival.ip_bytes - HEADERS)])
        };
        send().doing(|| format!("sending on flow {}", arrival.flow))?;
        Ok(())
    }
}

fn open(flow: u16) -> io::Result<Socket> {
    let socket = socket::udp().map_err(io::Error::other)?;
    socket.bind(&socket::address(SENDER, UDP_PORTS + flow))?;
    socket.connect(&socket::address(RECEIVER, SINK_PORT))?;
    set_socket_send_buffer_size_force(&socket, ROOM_BYTES)?;
    Ok(socket)
}
