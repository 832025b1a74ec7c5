//! Synthetic captures out of a real one: the same bytes every time, on every machine.

mod base;
mod flood;
mod gtp;
mod merge;
mod quic;
mod random;
mod recipe;
mod rewrite;

pub use base::Base;
pub use flood::flood;
pub use recipe::{RECIPES, Recipe};

use crate::error::{BenchError, at};
use merge::{Copied, Copies};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use unbloat_capture::{PcapWriter, Record};
use unbloat_units::Time;
use unbloat_wire::LinkType;

/// LINKTYPE_ETHERNET.
const LINK: u16 = 1;
const SNAP_LEN: u32 = 65535;

/// Where a capture lies once it is made.
pub fn path_of(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.pcap"))
}

/// Makes the capture called `name` in `folder` unless it lies there, made the same way.
pub fn make(name: &str, base: &Path, folder: &Path) -> Result<(), BenchError> {
    let path = path_of(folder, name);
    if name == "empty" {
        return write(&path, |_| Ok(())).map(drop);
    }
    let recipe = RECIPES.iter().find(|r| r.name == name);
    let recipe = recipe.ok_or_else(|| BenchError::NoCapture {
        name: name.to_owned(),
        known: RECIPES.map(|r| r.name).join(", "),
    })?;
    let size = std::fs::metadata(base).map_err(at(base))?.len();
    let how = format!("{recipe:?} of {size} bytes");
    let stamp = path.with_extension("made");
    if path.exists() && std::fs::read_to_string(&stamp).is_ok_and(|s| s == how) {
        return Ok(());
    }
    let packets = write_copies(&path, &Base::read(base)?, recipe)?;
    eprintln!("{name}: {packets} packets, {}", recipe.purpose);
    std::fs::write(&stamp, how).map_err(at(&stamp))
}

fn write_copies(path: &Path, base: &Base, recipe: &Recipe) -> Result<u64, BenchError> {
    if !base.flows.iter().any(|f| recipe.flows.takes(f)) {
        return Err(BenchError::NoFlows { name: recipe.name });
    }
    let mut dresser = Dresser {
        gtpu: recipe.gtpu,
        quic_pct: recipe.quic_pct,
        ..Dresser::default()
    };
    write(path, |out| {
        for copied in Copies::new(base, recipe).take(recipe.limit as usize) {
            let (data, wire_len) = dresser.dress(base, &copied);
            let time = Time::from_ns(copied.time_ns);
            out.write(time, wire_len, data)?;
        }
        Ok(())
    })
}

/// Gives packets the addresses of their copy, and a tunnel if there is one.
#[derive(Default)]
struct Dresser {
    gtpu: bool,
    quic_pct: u8,
    frame: Vec<u8>,
    tunnel: Vec<u8>,
}

impl Dresser {
    /// The packet's bytes and its length on the wire.
    fn dress(&mut self, base: &Base, copied: &Copied<'_>) -> (&[u8], u32) {
        let packet = copied.packet;
        self.frame.clear();
        self.frame.extend_from_slice(base.data(packet));
        rewrite::move_to_copy(&mut self.frame, copied.copy, packet.up);
        let chance = random::uniform(u64::from(copied.copy) << 32 | u64::from(packet.flow));
        let is_quic = chance * 100.0 < f64::from(self.quic_pct);
        if is_quic && base.flows[packet.flow as usize].tcp {
            let wire_len = quic::replace(&mut self.frame, packet.wire_len, packet.up);
            return (&self.frame, wire_len);
        }
        if !self.gtpu {
            return (&self.frame, packet.wire_len);
        }
        let client_at = base::ETHERNET + if packet.up { 12 } else { 16 };
        let client = base::u32_at(&self.frame, client_at);
        self.tunnel.clear();
        gtp::wrap(
            &mut self.tunnel,
            &self.frame,
            packet.wire_len,
            packet.up,
            client,
        );
        (&self.tunnel, packet.wire_len + gtp::OVERHEAD as u32)
    }
}

/// Writes a pcap file whole or not at all; returns how many packets it holds.
fn write(
    path: &Path,
    packets: impl FnOnce(&mut Counted) -> std::io::Result<()>,
) -> Result<u64, BenchError> {
    let unfinished = path.with_extension("part");
    let file = BufWriter::with_capacity(1 << 20, File::create(&unfinished).map_err(at(path))?);
    let attempt = || {
        let mut out = Counted {
            out: PcapWriter::new(file, LINK, SNAP_LEN)?,
            packets: 0,
        };
        packets(&mut out)?;
        out.out.finish()?;
        std::fs::rename(&unfinished, path)?;
        Ok(out.packets)
    };
    attempt().map_err(at(path))
}

struct Counted {
    out: PcapWriter<BufWriter<File>>,
    packets: u64,
}

impl Counted {
    fn write(&mut self, time: Time, wire_len: u32, data: &[u8]) -> std::io::Result<()> {
        self.packets += 1;
        self.out.write(&Record {
            time,
            link: LinkType::from(LINK),
            wire_len,
            data,
        })
    }
}

/// Cuts a base out of a capture: the whole flows of at most `most` packets that are IPv4 with TCP
/// or UDP in Ethernet.
pub fn cut(input: &Path, output: &Path, most: u32) -> Result<u64, BenchError> {
    let base = Base::read(input)?;
    write(output, |out| {
        let short = |p: &&base::Packet| base.flows[p.flow as usize].packets <= most;
        for packet in base.packets.iter().filter(short) {
            let time = Time::from_ns(packet.time_ns);
            out.write(time, packet.wire_len, base.data(packet))?;
        }
        Ok(())
    })
}
