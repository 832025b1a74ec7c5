//! What is true of a bed, by the path's own account of every packet, the server's kernel and the applications (formats: [`crate::make`],
//! [`crate::sender`]).

use crate::error::{ValidateError, at};
use crate::make::BedReport;
use crate::scenario::is_client;
use crate::tuple::Tuple;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

macro_rules! rows {
    ($($(#[$doc:meta])* $name:ident($address:ty) { $($(#[$attribute:meta])* $field:ident: $kind:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Deserialize)]
        pub(crate) struct $name {
            source: $address,
            source_port: u16,
            destination: $address,
            destination_port: u16,
            $($(#[$attribute])* pub(crate) $field: $kind,)*
        }
    )*};
}

rows! {
    /// A packet on the path; rows of what crossed it and of what was lost have these columns in common.
    Row(Option<IpAddr>) {
        protocol: Option<u8>,
        number: u64,
        seq: u32,
        payload_bytes: u32,
        ip_id: u16,
        came_ns: i64,
        hops_ns: String,
        asleep_ns: Option<i64>,
        lost_ns: Option<i64>,
    }
    /// What the server's kernel did.
    Kernel(Ipv4Addr) {
        time_ns: i64,
        kind: String,
        snd_una: u32,
        snd_nxt: u32,
        srtt_us: u32,
        ip_id: u16,
        end_seq: u32,
        value: u32,
    }
    /// A connection as both applications saw it.
    Connection(Ipv4Addr) {
        ending: String,
        read_down: u64,
        read_up: u64,
    }
}

impl Kernel {
    pub(crate) fn tuple(&self) -> Tuple {
        Tuple {
            source: (self.source, self.source_port),
            destination: (self.destination, self.destination_port),
        }
    }
}

impl Connection {
    /// From the client.
    pub(crate) fn tuple(&self) -> Tuple {
        Tuple {
            source: (self.source, self.source_port),
            destination: (self.destination, self.destination_port),
        }
    }

    /// Whether all was read at both ends.
    pub(crate) fn is_through(&self) -> bool {
        self.ending == "through"
    }
}

/// A TCP packet on the path. Times are those of captures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crossing {
    pub(crate) tuple: Tuple,
    pub(crate) seq: u32,
    pub(crate) payload_bytes: u32,
    pub(crate) ip_id: u16,
    /// Place among the packets of its direction as they entered the path.
    number: u64,
    came_ns: i64,
    at_monitor_ns: Option<i64>,
    /// How long it waited for the radio.
    asleep_ns: i64,
    /// When it was lost.
    lost_ns: Option<i64>,
}

impl Crossing {
    /// None for what is not TCP over IPv4.
    fn of(row: &Row, zero_ns: i64) -> Option<Crossing> {
        const TCP: u8 = 6;
        let address = |address| match address {
            Some(IpAddr::V4(address)) => Some(address),
            _ => None,
        };
        let first_hop = row.hops_ns.split(' ').next();
        let at_monitor = first_hop.and_then(|at| at.parse::<i64>().ok());
        (row.protocol == Some(TCP)).then_some(Crossing {
            tuple: Tuple {
                source: (address(row.source)?, row.source_port),
                destination: (address(row.destination)?, row.destination_port),
            },
            seq: row.seq,
            payload_bytes: row.payload_bytes,
            ip_id: row.ip_id,
            number: row.number,
            came_ns: zero_ns + row.came_ns,
            at_monitor_ns: at_monitor.map(|at| zero_ns + at),
            asleep_ns: row.asleep_ns.unwrap_or(0),
            lost_ns: row.lost_ns.map(|at| zero_ns + at),
        })
    }

    /// What names it in captures too.
    pub(crate) fn key(&self) -> (Tuple, u32, u16) {
        (self.tuple, self.seq, self.ip_id)
    }
}

/// A packet that was lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drop {
    pub(crate) time_ns: i64,
    pub(crate) packet: Crossing,
    pub(crate) is_before_monitor: bool,
}

/// A packet that made the radio wake.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Promotion {
    pub(crate) tuple: Tuple,
    pub(crate) seq: u32,
    pub(crate) promotion_ms: f64,
}

/// A change of a client's downlink.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct RateChange {
    pub(crate) time_ns: i64,
    pub(crate) client: Ipv4Addr,
    pub(crate) rate_bps: f64,
}

/// Everything that a bed wrote down.
pub(crate) struct Truth {
    pub(crate) drops: Vec<Drop>,
    /// Packets that came to the monitor after others of their connection that had entered the path later.
    pub(crate) overtaken: BTreeSet<(Tuple, u32, u16)>,
    pub(crate) promotions: Vec<Promotion>,
    pub(crate) kernel: Vec<Kernel>,
    pub(crate) connections: Vec<Connection>,
    pub(crate) rates: Vec<RateChange>,
}

impl Truth {
    pub(crate) fn read(folder: &Path) -> Result<Truth, ValidateError> {
        let path = folder.join("run.json");
        let text = fs::read(&path).map_err(at(&path))?;
        let report: BedReport =
            serde_json::from_slice(&text).map_err(|source| ValidateError::Json { path, source })?;
        let rows = |name| -> Result<Vec<Crossing>, ValidateError> {
            let rows: Vec<Row> = read(folder, name)?;
            let crossings = rows
                .iter()
                .filter_map(|row| Crossing::of(row, report.zero_ns));
            Ok(crossings.collect())
        };
        let (crossed, lost) = (rows("path-packets.csv")?, rows("path-drops.csv")?);
        let drops = lost.iter().filter_map(|packet| {
            Some(Drop {
                time_ns: packet.lost_ns?,
                packet: *packet,
                // There are two hops in each direction, and the monitor between them.
                is_before_monitor: packet.at_monitor_ns.is_none(),
            })
        });
        let all: Vec<Crossing> = crossed.iter().chain(&lost).copied().collect();
        Ok(Truth {
            drops: drops.collect(),
            overtaken: overtaken(&all),
            promotions: promotions(&all),
            kernel: read(folder, "sender.csv")?,
            connections: read(folder, "connections.csv")?,
            rates: read(folder, "rate.csv")?,
        })
    }
}

fn overtaken(all: &[Crossing]) -> BTreeSet<(Tuple, u32, u16)> {
    let mut seen: Vec<(i64, &Crossing)> = all
        .iter()
        .filter_map(|packet| Some((packet.at_monitor_ns?, packet)))
        .collect();
    seen.sort_by_key(|(at, packet)| (*at, packet.number));
    let mut newest: BTreeMap<Tuple, u64> = BTreeMap::new();
    let mut overtaken = BTreeSet::new();
    for (_, packet) in seen {
        let newest = newest.entry(packet.tuple).or_default();
        if packet.number < *newest {
            overtaken.insert(packet.key());
        }
        *newest = packet.number.max(*newest);
    }
    overtaken
}

/// Waits for the radio, those left out that began while it was waking already.
fn promotions(all: &[Crossing]) -> Vec<Promotion> {
    let is_down = |packet: &Crossing| is_client(packet.tuple.destination.0);
    // The radio is the last that packets meet on their way down, and the first on their way up.
    let mut waits: Vec<(Ipv4Addr, i64, &Crossing)> = all
        .iter()
        .filter(|packet| packet.asleep_ns > 0)
        .filter_map(|packet| {
            Some(match is_down(packet) {
                true => (packet.tuple.destination.0, packet.at_monitor_ns?, packet),
                false => (packet.tuple.source.0, packet.came_ns, packet),
            })
        })
        .collect();
    waits.sort_by_key(|(client, begin, packet)| (*client, *begin, packet.number));
    let mut awake: BTreeMap<Ipv4Addr, i64> = BTreeMap::new();
    let mut promotions = Vec::new();
    for (client, begin, packet) in waits {
        let awake = awake.entry(client).or_insert(i64::MIN);
        let is_first = begin >= *awake;
        *awake = (begin + packet.asleep_ns).max(*awake);
        if is_first && !is_down(packet) {
            promotions.push(Promotion {
                tuple: packet.tuple,
                seq: packet.seq,
                promotion_ms: packet.asleep_ns as f64 / 1e6,
            });
        }
    }
    promotions
}

fn read<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<Vec<T>, ValidateError> {
    let path = folder.join(name);
    let rows = csv::Reader::from_path(&path).and_then(|mut csv| csv.deserialize().collect());
    rows.map_err(|source| ValidateError::Csv { path, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 45, 0, 1), 5_000);
    const SERVER: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 99, 0, 1), 80);

    fn packet(is_down: bool, number: u64, at_monitor_ns: i64) -> Crossing {
        let up = Tuple {
            source: CLIENT,
            destination: SERVER,
        };
        Crossing {
            tuple: if is_down { up.reversed() } else { up },
            seq: number as u32,
            payload_bytes: 100,
            ip_id: 7,
            number,
            came_ns: 0,
            at_monitor_ns: Some(at_monitor_ns),
            asleep_ns: 0,
            lost_ns: None,
        }
    }

    #[test]
    fn who_comes_behind_a_later_one_of_its_connection_was_overtaken() {
        let of_another = Crossing {
            tuple: packet(false, 0, 0).tuple,
            ..packet(true, 9, 5)
        };
        let all = [
            packet(true, 1, 10),
            packet(true, 2, 40),
            packet(true, 3, 20),
            packet(true, 4, 40),
            packet(true, 5, 30),
            of_another,
        ];
        let overtaken: Vec<u32> = overtaken(&all).into_iter().map(|(_, seq, _)| seq).collect();
        assert_eq!(overtaken, [2, 4]);
    }

    #[test]
    fn what_waits_while_the_radio_wakes_did_not_wake_it() {
        let up = |number, came_ns, asleep_ns| Crossing {
            came_ns,
            asleep_ns,
            ..packet(false, number, came_ns + asleep_ns)
        };
        let paged = Crossing {
            asleep_ns: 400,
            ..packet(true, 1, 10_000)
        };
        let all = [
            up(1, 0, 300),
            up(2, 100, 200),
            up(3, 5_000, 0),
            paged,
            up(4, 10_100, 300),
            up(5, 20_000, 350),
        ];
        let woke: Vec<u32> = promotions(&all).iter().map(|one| one.seq).collect();
        assert_eq!(woke, [1, 5]);
    }

    #[test]
    fn a_row_without_a_second_hop_never_came_to_the_monitor() {
        let text = "protocol,source,source_port,destination,destination_port,came_ns,lost_ns,hop,reason,number,seq,payload_bytes,ip_id,hops_ns\n\
                    6,10.99.0.1,80,10.45.0.1,5000,10,20,1,random,4,77,100,9,\n\
                    17,10.99.0.1,80,10.45.0.1,5000,10,20,1,random,4,0,100,9,\n\
                    6,10.99.0.1,80,10.45.0.1,5000,10,50,2,overflow,5,177,100,9,30\n";
        let rows = csv::Reader::from_reader(text.as_bytes()).into_deserialize::<Row>();
        let packets = rows.filter_map(|row| Crossing::of(&row.unwrap(), 1_000));
        let packets: Vec<_> = packets
            .map(|one| (one.seq, one.at_monitor_ns, one.lost_ns))
            .collect();
        assert_eq!(
            packets,
            [(77, None, Some(1_020)), (177, Some(1_030), Some(1_050))]
        );
    }
}
