//! The path's account of every packet that entered it, as CSV: when it came, where it was, how long it waited where, and when it
//! left or was lost.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use unbloat_emulator::Parts;
use unbloat_link::Place;
use unbloat_qdisc::Reason;
use unbloat_units::{Delta, Direction, Time};

/// Both files name a packet alike. `number` counts those of a direction as they entered; `hops_ns` is when it came to the second
/// hop and to those behind it.
const WHO: &str =
    "direction,protocol,source,source_port,destination,destination_port,bytes,came_ns";
const CROSSED: &str = "queued_ns,radio_ns,asleep_ns,left_ns,number,seq,payload_bytes,ip_id,hops_ns";
const LOST: &str = "lost_ns,hop,reason,number,seq,payload_bytes,ip_id,hops_ns";

const TCP: u8 = 6;
const UDP: u8 = 17;
const UDP_HEADER: usize = 8;

/// A packet on its way over the path.
#[derive(Clone, Default)]
pub(super) struct Crossing {
    direction: Option<Direction>,
    number: u64,
    bytes: u32,
    names: Option<Names>,
    came: Time,
    /// When it came to the second hop, the third ...
    hops: Vec<Time>,
    /// In queues and buffers.
    queued: Delta,
    /// On the air, with what had to be sent again.
    radio: Delta,
    /// In front of a radio that was asleep.
    asleep: Delta,
}

impl Crossing {
    pub(super) fn begin(
        direction: Direction,
        number: u64,
        came: Time,
        bytes: Parts<'_>,
    ) -> Crossing {
        let Parts { header, payload } = bytes;
        let len = header.len() + payload.len();
        Crossing {
            direction: Some(direction),
            number,
            bytes: len as u32,
            names: Names::of(header, payload, len),
            came,
            ..Crossing::default()
        }
    }

    pub(super) fn waited(&mut self, place: Place, wait: Delta) {
        match place {
            Place::Radio => self.radio += wait,
            Place::Sleep => self.asleep += wait,
            Place::Socket | Place::Queue | Place::Qdisc | Place::Driver | Place::Firmware => {
                self.queued += wait;
            }
        }
    }

    pub(super) fn came_to_next_hop(&mut self, at: Time) {
        self.hops.push(at);
    }

    fn who(&self) -> String {
        let direction = self.direction.map_or("", Direction::name);
        let names = self.names.map_or_else(|| ",,,,".to_owned(), Names::ends);
        let (bytes, came) = (self.bytes, self.came.as_ns());
        format!("{direction},{names},{bytes},{came}")
    }

    fn which(&self) -> String {
        let names = self.names.unwrap_or_default();
        let hops: Vec<String> = self.hops.iter().map(|at| at.as_ns().to_string()).collect();
        let Names {
            seq,
            payload_bytes,
            ip_id,
            ..
        } = names;
        let (number, hops) = (self.number, hops.join(" "));
        format!("{number},{seq},{payload_bytes},{ip_id},{hops}")
    }
}

/// How a packet's way ended.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fate {
    Left,
    Lost(Reason),
}

/// Writes it. Times count from the run's zero.
pub(super) struct PacketLog {
    crossed: BufWriter<File>,
    lost: BufWriter<File>,
}

impl PacketLog {
    const NAMES: [&'static str; 2] = ["path-packets.csv", "path-drops.csv"];

    pub(super) fn create(folder: &Path) -> io::Result<PacketLog> {
        let [crossed, lost] = PacketLog::NAMES.map(|name| File::create(folder.join(name)));
        let mut log = PacketLog {
            crossed: BufWriter::new(crossed?),
            lost: BufWriter::new(lost?),
        };
        writeln!(log.crossed, "{WHO},{CROSSED}")?;
        writeln!(log.lost, "{WHO},{LOST}")?;
        Ok(log)
    }

    pub(super) fn write(&mut self, at: Time, fate: Fate, crossing: &Crossing) -> io::Result<()> {
        let (who, at, which) = (crossing.who(), at.as_ns(), crossing.which());
        match fate {
            Fate::Left => {
                let waits = [crossing.queued, crossing.radio, crossing.asleep];
                let [queued, radio, asleep] = waits.map(Delta::as_ns);
                writeln!(self.crossed, "{who},{queued},{radio},{asleep},{at},{which}")
            }
            Fate::Lost(reason) => {
                let (hop, reason) = (crossing.hops.len() + 1, reason.name());
                writeln!(self.lost, "{who},{at},{hop},{reason},{which}")
            }
        }
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.crossed.flush()?;
        self.lost.flush()
    }
}

/// What tells a packet from others. Fields that its protocol does not have are zero.
#[derive(Clone, Copy, Debug)]
struct Names {
    protocol: u8,
    source: (IpAddr, u16),
    destination: (IpAddr, u16),
    seq: u32,
    payload_bytes: u32,
    ip_id: u16,
}

impl Default for Names {
    fn default() -> Names {
        let nobody = (IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        Names {
            protocol: 0,
            source: nobody,
            destination: nobody,
            seq: 0,
            payload_bytes: 0,
            ip_id: 0,
        }
    }
}

impl Names {
    /// Of a packet of `len` bytes that begins with its IP header.
    fn of(header: &[u8], payload: &[u8], len: usize) -> Option<Names> {
        let (protocol, from, to, ip_len): (u8, IpAddr, IpAddr, _) = match header.first()? >> 4 {
            4 => {
                let [from, to] = [12, 16].map(|at| header.get(at..)?.first_chunk::<4>());
                let (from, to) = (Ipv4Addr::from(*from?), Ipv4Addr::from(*to?));
                let ip_len = usize::from(header[0] & 15) * 4;
                (*header.get(9)?, from.into(), to.into(), ip_len)
            }
            6 => {
                let [from, to] = [8, 24].map(|at| header.get(at..)?.first_chunk::<16>());
                let (from, to) = (Ipv6Addr::from(*from?), Ipv6Addr::from(*to?));
                (*header.get(6)?, from.into(), to.into(), 40)
            }
            _ => return None,
        };
        let is_v4 = from.is_ipv4();
        // UDP's header may be on either side of the cut.
        let transport = header
            .get(ip_len..)
            .filter(|rest| !rest.is_empty())
            .unwrap_or(payload);
        let [a, b, c, d] = *transport.first_chunk()?;
        let ports = [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])];
        let (seq, transport_len) = match protocol {
            TCP => {
                let seq = u32::from_be_bytes(transport.get(4..8)?.try_into().ok()?);
                (seq, usize::from(transport.get(12)? >> 4) * 4)
            }
            UDP => (0, UDP_HEADER),
            _ => (0, 0),
        };
        Some(Names {
            protocol,
            source: (from, ports[0]),
            destination: (to, ports[1]),
            seq,
            payload_bytes: len.saturating_sub(ip_len + transport_len) as u32,
            ip_id: match is_v4 {
                true => u16::from_be_bytes([header[4], header[5]]),
                false => 0,
            },
        })
    }

    fn ends(self) -> String {
        let ((from, from_port), (to, to_port)) = (self.source, self.destination);
        format!("{},{from},{from_port},{to},{to_port}", self.protocol)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(folder: &Path, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        let columns = text.lines().next().unwrap().split(',').count();
        let rows: Vec<_> = text.lines().skip(1).map(str::to_owned).collect();
        assert!(rows.iter().all(|row| row.split(',').count() == columns));
        rows
    }

    fn at(ms: i64) -> Time {
        Time::from_ns(0) + Delta::ms(ms)
    }

    /// TCP from 10.99.0.1:8080 to 10.45.0.2:53.
    fn header() -> Vec<u8> {
        let mut header = vec![0; 40];
        header[0] = 0x45;
        header[4..6].copy_from_slice(&77u16.to_be_bytes());
        header[9] = TCP;
        header[12..20].copy_from_slice(&[10, 99, 0, 1, 10, 45, 0, 2]);
        header[20..24].copy_from_slice(&[0x1f, 0x90, 0, 53]);
        header[24..28].copy_from_slice(&123_456u32.to_be_bytes());
        header[32] = 5 << 4;
        header
    }

    fn begun(header: &[u8], payload: &[u8]) -> Crossing {
        let parts = Parts { header, payload };
        Crossing::begin(Direction::Down, 9, at(5), parts)
    }

    #[test]
    fn a_row_says_who_waited_how_long_where() {
        let folder = tempfile::tempdir().unwrap();
        let mut crossing = begun(&header(), &[0; 1_360]);
        for (place, ms) in [
            (Place::Queue, 2),
            (Place::Firmware, 1),
            (Place::Radio, 4),
            (Place::Sleep, 8),
        ] {
            crossing.waited(place, Delta::ms(ms));
        }
        crossing.came_to_next_hop(at(7));
        crossing.came_to_next_hop(at(8));
        let cut = begun(&header()[..19], &[]);
        let mut log = PacketLog::create(folder.path()).unwrap();
        log.write(at(30), Fate::Left, &crossing).unwrap();
        log.write(at(30), Fate::Left, &cut).unwrap();
        log.finish().unwrap();
        let crossed = "3000000,4000000,8000000,30000000,9,123456,1360,77,7000000 8000000";
        assert_eq!(
            rows(folder.path(), PacketLog::NAMES[0]),
            [
                format!("down,6,10.99.0.1,8080,10.45.0.2,53,1400,5000000,{crossed}"),
                "down,,,,,,19,5000000,0,0,0,30000000,9,0,0,0,".to_owned()
            ]
        );
    }

    #[test]
    fn what_is_lost_is_told_with_where_and_why() {
        let folder = tempfile::tempdir().unwrap();
        let mut crossing = begun(&header(), &[0; 100]);
        crossing.came_to_next_hop(at(7));
        let mut log = PacketLog::create(folder.path()).unwrap();
        let fate = Fate::Lost(Reason::Overflow);
        log.write(at(8), fate, &crossing).unwrap();
        log.finish().unwrap();
        assert_eq!(
            rows(folder.path(), PacketLog::NAMES[1]),
            [
                "down,6,10.99.0.1,8080,10.45.0.2,53,140,5000000,8000000,2,overflow,9,123456,100,77,7000000"
            ]
        );
    }

    #[test]
    fn the_payload_is_what_is_behind_the_header_of_the_transport() {
        let mut header = header();
        header[9] = UDP;
        let (ip, udp) = header.split_at(20);
        let payload = [udp, &[0; 30]].concat();
        let of_udp = Names::of(ip, &payload, 70).unwrap();
        assert_eq!((of_udp.destination.1, of_udp.payload_bytes), (53, 42));
        header[9] = TCP;
        header[32] = 8 << 4;
        let of_tcp = Names::of(&header, &[0; 112], 152).unwrap();
        assert_eq!((of_tcp.seq, of_tcp.payload_bytes), (123_456, 100));
    }
}
