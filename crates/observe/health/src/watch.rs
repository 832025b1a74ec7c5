//! The one look at all packets in trace order.

use crate::clock::Clock;
use crate::copies::Copies;
use crate::seen::Seen;
use crate::state::{State, Writer};
use crate::{Health, UnreadLink};
use unbloat_units::{Delta, Time};
use unbloat_wire::{Batch, PacketFlags, PacketHeader, SkipReason, protocol};

/// Looks at batches in trace order. Memory is constant.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    copies: Copies,
    clock: Clock,
    latest: Option<Time>,
    seen: Seen,
}

impl Watch {
    /// To be added to the times of the next batch's packets before it is looked at: what the
    /// capture clock stepped so far, taken out.
    pub fn correction(&self) -> Delta {
        self.clock.correction()
    }

    /// Takes in a batch whose directions are known: marks second copies, and takes further steps of
    /// the clock out of its times.
    pub fn look(&mut self, batch: &mut Batch) {
        self.seen.packets += u64::from(batch.packets);
        for (number, packets) in batch.unread_links.iter() {
            self.seen.unread.add(number, packets);
        }
        self.seen.encrypted += batch.skipped.get(SkipReason::Encrypted);
        let cut = [
            SkipReason::LinkCut,
            SkipReason::IpCut,
            SkipReason::TransportCut,
        ];
        self.seen.snap.headers_cut += cut
            .map(|reason| batch.skipped.get(reason))
            .iter()
            .sum::<u64>();
        if self.clock.look(&mut batch.headers, batch.origin) {
            let times = batch.headers.iter().map(|header| header.time);
            batch.watermark = times.chain(self.latest).max().unwrap_or(batch.watermark);
        }
        for header in &mut batch.headers {
            self.packet(header);
        }
    }

    #[inline]
    fn packet(&mut self, header: &mut PacketHeader) {
        let latest = *self.latest.get_or_insert(header.time);
        if header.time >= latest {
            self.latest = Some(header.time);
        } else {
            let order = &mut self.seen.order;
            order.late_packets += 1;
            let late = latest.since(header.time).as_ns();
            order.most_late_ns = order.most_late_ns.max(late);
        }
        let copied = self.seen.copied.of(header.is_uplink());
        copied.packets += 1;
        if self.copies.is_copy(header) {
            copied.copies += 1;
            header.flags.set(PacketFlags::COPY);
            return;
        }
        let is_tcp = header.protocol == protocol::TCP;
        let seen = &mut self.seen;
        seen.tcp_packets += u64::from(is_tcp);
        if header.flags.has(PacketFlags::HEADER_CUT) {
            seen.snap.options_cut += u64::from(is_tcp);
        }
        if header.payload_len > 0 && (is_tcp || header.protocol == protocol::UDP) {
            seen.snap.payload_packets += 1;
            seen.snap.payload_cut += u64::from(header.flags.has(PacketFlags::PAYLOAD_CUT));
            if is_tcp {
                seen.sizes.look(header);
            }
        }
    }

    /// Counts of the packets since the beginning or the last call. Keeps what it needs to judge later packets.
    pub fn take_seen(&mut self) -> Seen {
        let seen = std::mem::take(&mut self.seen);
        let clock = self.clock.take_found();
        Seen { clock, ..seen }
    }

    /// What is remembered to judge later packets.
    pub fn state(&self) -> State {
        let mut writer = Writer::new(self.latest.unwrap_or_default());
        writer.time(self.latest);
        self.copies.write(&mut writer);
        self.clock.write(&mut writer);
        State {
            latest_ns: self.latest.unwrap_or_default().as_ns(),
            correction_ns: self.clock.correction().as_ns(),
            remembered: writer.finish(),
        }
    }

    /// Goes on from a state; `None` if these bytes are none.
    pub fn resume(state: &State) -> Option<Watch> {
        let mut reader = state.reader();
        let latest = reader.time()?;
        let copies = Copies::read(&mut reader)?;
        let correction = Delta::ns(state.correction_ns);
        let clock = Clock::read(&mut reader, correction)?;
        reader.is_at_end().then(|| Watch {
            copies,
            clock,
            latest,
            seen: Seen::default(),
        })
    }

    /// What the packets so far tell; the rest of it is for others to fill in.
    pub fn seen(&self) -> Health {
        let mut health = self.seen.health();
        health.clock = self.clock.found().clone();
        health
    }
}

impl Seen {
    /// As of a whole capture; the rest of it is for others to fill in.
    pub fn health(&self) -> Health {
        let unread = self.unread.iter();
        Health {
            packets: self.packets,
            tcp_packets: self.tcp_packets,
            copied: self.copied,
            clock: self.clock.clone(),
            order: self.order,
            offload: self.sizes.found(),
            snap: self.snap,
            encrypted: self.encrypted,
            unread_links: unread
                .map(|(number, packets)| UnreadLink { number, packets })
                .collect(),
            ..Health::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Talk, at_ms};

    fn batch(headers: Vec<PacketHeader>) -> Batch {
        Batch {
            packets: headers.len() as u32,
            watermark: headers.iter().map(|h| h.time).max().unwrap_or_default(),
            origin: headers[0].time,
            headers,
            ..Batch::default()
        }
    }

    #[test]
    fn an_ordinary_capture_has_nothing_to_tell() {
        let mut watch = Watch::default();
        watch.look(&mut batch(Talk::default().packets()));
        let health = watch.seen();
        assert_eq!((health.packets, health.tcp_packets), (800, 800));
        assert_eq!(health.problems(), []);
    }

    #[test]
    fn copies_are_marked_and_counted_by_direction() {
        let mut headers = Vec::new();
        for packet in Talk::default().packets() {
            headers.push(packet);
            if !packet.is_uplink() {
                headers.push(packet);
            }
        }
        let mut batch = batch(headers);
        let mut watch = Watch::default();
        watch.look(&mut batch);
        let copied = watch.seen().copied;
        assert_eq!((copied.down.packets, copied.down.copies), (800, 400));
        assert_eq!(copied.up.copies, 0);
        let marked = batch
            .headers
            .iter()
            .filter(|h| h.flags.has(PacketFlags::COPY));
        assert_eq!(marked.count(), 400);
    }

    #[test]
    fn a_batch_ends_where_its_clock_without_steps_ends() {
        let mut headers = Talk::default().packets();
        for packet in &mut headers[400..] {
            packet.time += Delta::secs(3600);
        }
        let mut batch = batch(headers);
        Watch::default().look(&mut batch);
        assert!(batch.watermark < at_ms(4100), "{:?}", batch.watermark);
    }

    #[test]
    fn packets_behind_later_ones_are_counted() {
        let mut headers = Talk::default().packets();
        headers.swap(100, 101);
        let mut watch = Watch::default();
        watch.look(&mut batch(headers));
        let order = watch.seen().order;
        assert_eq!((order.late_packets, order.most_late_ns), (1, 5_000_000));
    }
}
