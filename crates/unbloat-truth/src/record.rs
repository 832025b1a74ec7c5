//! The truth files of a run, one for each kind of happening, and the two captures.
//!
//! Times are nanoseconds since 1970-01-01 UTC on one clock. Flows are named by
//! `protocol,source,source_port,destination,destination_port` as in the packet concerned; `seq` is
//! the sequence number on the wire.
//!
//! | file | one row for |
//! |---|---|
//! | `monitor.pcap` | each packet at the moment it passes the monitor (Ethernet) |
//! | `server.pcap` | each packet as the server's kernel hands it to its device or takes it from there: the sender's own vantage (bare IP) |
//! | `drops.csv` | each packet lost, and where: `upstream`, `tail`, `downstream` |
//! | `reorders.csv` | each packet held back, and how many of its flow overtook it |
//! | `promotions.csv` | each wait of a packet for the radio; `first` marks the one that started the promotion |
//! | `rate.csv` | each change of a link's rate |
//! | `queue.csv` | every 10 ms, each queue that holds bytes (and once when it is empty again) |
//! | `deliveries.csv` | bytes that left each link in a 10 ms bin: the link's true throughput |

use crate::core::{AccessLink, Direction, Event, FiveTuple, Observer, Packet, client_address};
use crate::error::{LabError, at};
use crate::pcap;
use crate::sink::{DiskThread, Sink};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use unbloat_units::{Delta, Time};

const BIN: Delta = Delta::ms(10);
const TUPLE: &str = "protocol,source,source_port,destination,destination_port";

/// How much of each packet the captures keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capture {
    /// Headers, with HTTP/1 heads and DNS whole.
    Headers,
    Full,
}

impl Capture {
    /// Snap length of frames in headers-only captures; the 14 bytes of Ethernet are not in the
    /// packet.
    pub(crate) fn keep(self, packet: &Packet) -> usize {
        match self {
            Capture::Headers => pcap::kept_bytes(packet, 128 - 14),
            Capture::Full => packet.bytes.len(),
        }
    }
}

/// Writes what it observes.
pub(crate) struct Recorder {
    capture: Capture,
    monitor: Sink,
    drops: Sink,
    reorders: Sink,
    promotions: Sink,
    queue: Sink,
    deliveries: Sink,
    bin: Time,
    carried: BTreeMap<(usize, Direction), (u64, u64)>,
}

impl Recorder {
    pub(crate) fn create(
        folder: &Path,
        disk: &DiskThread,
        capture: Capture,
    ) -> Result<Recorder, LabError> {
        let open = |name: &str| disk.create(&folder.join(name));
        let table = |name: &str, columns: &str| -> Result<Sink, LabError> {
            let mut sink = open(name)?;
            writeln!(sink, "{columns}").map_err(at(folder.join(name)))?;
            Ok(sink)
        };
        let packet = format!("direction,client,{TUPLE},seq,payload_bytes,ip_id");
        let mut recorder = Recorder {
            capture,
            monitor: open("monitor.pcap")?,
            drops: table("drops.csv", &format!("time_ns,where,{packet},tcp_flags"))?,
            reorders: table(
                "reorders.csv",
                &format!("time_ns,where,{packet},hold_ms,overtaken_by"),
            )?,
            promotions: table(
                "promotions.csv",
                &format!("time_ns,{packet},silence_s,promotion_ms,first"),
            )?,
            queue: table("queue.csv", "time_ns,direction,client,queue_bytes")?,
            deliveries: table(
                "deliveries.csv",
                "time_ns,direction,client,ip_bytes,packets",
            )?,
            bin: Time::MIN,
            carried: BTreeMap::new(),
        };
        pcap::ethernet_header(&mut recorder.monitor).map_err(at(folder))?;
        Ok(recorder)
    }

    fn write(&mut self, now: Time, event: Event<'_>) -> io::Result<()> {
        let ns = now.as_ns();
        match event {
            Event::Monitored(packet) => {
                let keep = self.capture.keep(packet);
                pcap::ethernet_record(&mut self.monitor, now, packet, keep)
            }
            Event::Dropped(place, packet) => {
                let (place, row, flags) = (place.name(), Row(packet), packet.flags);
                writeln!(self.drops, "{ns},{place},{row},{flags}")
            }
            Event::Reordered {
                place,
                packet,
                hold,
                overtaken_by,
            } => {
                let (place, row, hold) = (place.name(), Row(packet), hold.as_ms());
                writeln!(self.reorders, "{ns},{place},{row},{hold},{overtaken_by}")
            }
            Event::Promoted { packet, promotion } => {
                let (row, first) = (Row(packet), promotion.first);
                let (silence, wait) = (promotion.silence.as_secs(), promotion.wait.as_ms());
                writeln!(self.promotions, "{ns},{row},{silence:.6},{wait:.6},{first}")
            }
            Event::Queue {
                client,
                direction,
                bytes,
            } => {
                let (way, client) = (direction.name(), client_address(client));
                writeln!(self.queue, "{ns},{way},{client},{}", bytes.as_u64())
            }
            Event::Carried(packet) => self.carry(now, packet),
            Event::Delivered(_) => Ok(()),
        }
    }

    fn carry(&mut self, now: Time, packet: &Packet) -> io::Result<()> {
        let bin = Time::from_ns(now.as_ns() - now.as_ns().rem_euclid(BIN.as_ns()));
        if bin != self.bin {
            self.finish()?;
            self.bin = bin;
        }
        let sums = self
            .carried
            .entry((packet.client, packet.direction))
            .or_default();
        sums.0 += u64::from(packet.ip_bytes());
        sums.1 += 1;
        Ok(())
    }

    /// Writes the bin that is still open.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        let start = self.bin.as_ns();
        for ((client, direction), (bytes, packets)) in std::mem::take(&mut self.carried) {
            let (way, client) = (direction.name(), client_address(client));
            writeln!(self.deliveries, "{start},{way},{client},{bytes},{packets}")?;
        }
        Ok(())
    }
}

impl Observer for Recorder {
    fn event(&mut self, now: Time, event: Event<'_>) {
        // Sinks fail only when the disk thread has stopped; it reports why when it is joined.
        let _ = self.write(now, event);
    }
}

/// Writes `rate.csv`: every change of every link's rate in the span of the run.
pub(crate) fn write_rates(
    folder: &Path,
    disk: &DiskThread,
    links: &[AccessLink],
    start: Time,
    end: Time,
) -> Result<(), LabError> {
    let mut sink = disk.create(&folder.join("rate.csv"))?;
    let mut write = || -> io::Result<()> {
        writeln!(sink, "time_ns,direction,client,rate_bps")?;
        for (index, link) in links.iter().enumerate() {
            let client = client_address(index);
            for (way, schedule) in [("down", &link.down), ("up", &link.up)] {
                for (now, rate) in schedule.clone().starting_at(start).changes(start, end) {
                    writeln!(sink, "{},{way},{client},{}", now.as_ns(), rate.as_bps())?;
                }
            }
        }
        Ok(())
    };
    write().map_err(at(folder.join("rate.csv")))
}

/// `direction,client,<five-tuple>,seq,payload_bytes,ip_id`
struct Row<'a>(&'a Packet);

impl std::fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Packet {
            tuple,
            seq,
            payload_bytes,
            ip_id,
            ..
        } = self.0;
        let (way, client) = (self.0.direction.name(), client_address(self.0.client));
        let tuple: &FiveTuple = tuple;
        write!(f, "{way},{client},{tuple},{seq},{payload_bytes},{ip_id}")
    }
}
