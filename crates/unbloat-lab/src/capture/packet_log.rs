//! The path's account of every packet that crossed it, as CSV: when it came, how long it waited where, when it left.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use unbloat_link::Place;
use unbloat_units::{Delta, Time};
use unbloat_workload::Direction;

const HEADER: &str = "direction,protocol,source,source_port,destination,destination_port,bytes,came_ns,queued_ns,radio_ns,asleep_ns,left_ns";

/// A packet on its way over the path.
#[derive(Clone, Copy, Default)]
pub(super) struct Crossing {
    direction: Option<Direction>,
    came: Time,
    /// In queues and buffers.
    queued: Delta,
    /// On the air, with what had to be sent again.
    radio: Delta,
    /// In front of a radio that was asleep.
    asleep: Delta,
}

impl Crossing {
    pub(super) fn begin(direction: Direction, came: Time) -> Crossing {
        Crossing {
            direction: Some(direction),
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
}

/// Writes it. Times count from the run's zero.
pub(super) struct PacketLog(BufWriter<File>);

impl PacketLog {
    pub(super) const NAME: &'static str = "path-packets.csv";

    pub(super) fn create(path: &Path) -> io::Result<PacketLog> {
        let mut out = BufWriter::new(File::create(path)?);
        writeln!(out, "{HEADER}")?;
        Ok(PacketLog(out))
    }

    pub(super) fn write(
        &mut self,
        left: Time,
        bytes: u32,
        head: &[u8],
        crossing: &Crossing,
    ) -> io::Result<()> {
        let direction = crossing.direction.map_or("", Direction::name);
        write!(self.0, "{direction},")?;
        match ends(head) {
            Some((protocol, [(from, from_port), (to, to_port)])) => {
                write!(self.0, "{protocol},{from},{from_port},{to},{to_port}")?;
            }
            None => write!(self.0, ",,,,")?,
        }
        let (came, left) = (crossing.came.as_ns(), left.as_ns());
        let waits = [crossing.queued, crossing.radio, crossing.asleep];
        let [queued, radio, asleep] = waits.map(Delta::as_ns);
        writeln!(self.0, ",{bytes},{came},{queued},{radio},{asleep},{left}")
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.0.flush()
    }
}

type Ends = [(IpAddr, u16); 2];

/// Protocol, source and destination of a packet that begins with its IP header.
fn ends(head: &[u8]) -> Option<(u8, Ends)> {
    let (protocol, from, to, rest): (u8, IpAddr, IpAddr, _) = match head.first()? >> 4 {
        4 => {
            let [from, to] = [12, 16].map(|at| head.get(at..)?.first_chunk::<4>());
            let len = usize::from(head[0] & 15) * 4;
            let (from, to) = (Ipv4Addr::from(*from?), Ipv4Addr::from(*to?));
            (*head.get(9)?, from.into(), to.into(), head.get(len..)?)
        }
        6 => {
            let [from, to] = [8, 24].map(|at| head.get(at..)?.first_chunk::<16>());
            let (from, to) = (Ipv6Addr::from(*from?), Ipv6Addr::from(*to?));
            (*head.get(6)?, from.into(), to.into(), head.get(40..)?)
        }
        _ => return None,
    };
    let [a, b, c, d] = *rest.first_chunk()?;
    let ports = [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])];
    Some((protocol, [(from, ports[0]), (to, ports[1])]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_who_waited_how_long_where() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(PacketLog::NAME);
        let mut head = vec![0; 28];
        head[0] = 0x45;
        head[9] = 17;
        head[12..20].copy_from_slice(&[10, 99, 0, 1, 10, 45, 0, 2]);
        head[20..24].copy_from_slice(&[0x1f, 0x90, 0, 53]);
        let at = |ms| Time::from_ns(0) + Delta::ms(ms);
        let mut crossing = Crossing::begin(Direction::Down, at(5));
        for (place, ms) in [
            (Place::Queue, 2),
            (Place::Firmware, 1),
            (Place::Radio, 4),
            (Place::Sleep, 8),
        ] {
            crossing.waited(place, Delta::ms(ms));
        }
        let mut log = PacketLog::create(&path).unwrap();
        log.write(at(30), 1_400, &head, &crossing).unwrap();
        log.write(at(30), 1_400, &head[..21], &crossing).unwrap();
        log.finish().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let rows: Vec<_> = text.lines().skip(1).collect();
        let times = "1400,5000000,3000000,4000000,8000000,30000000";
        assert_eq!(
            rows,
            [
                format!("down,17,10.99.0.1,8080,10.45.0.2,53,{times}"),
                format!("down,,,,,,{times}")
            ]
        );
    }
}
