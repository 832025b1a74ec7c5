//! Protocol shares (§4.1).

use crate::findings::Findings;
use crate::panel::Panel;
use crate::view::View;
use unbloat_table::Row;
use unbloat_trace::tables::ProtocolRow;

#[derive(Default)]
pub(crate) struct Protocols {
    all: Traffic,
    tcp: Traffic,
    http: Traffic,
    https: Traffic,
}

#[derive(Default)]
struct Traffic {
    flows: u64,
    packets: u64,
    bytes: u64,
}

impl Panel for Protocols {
    fn table(&self) -> &'static str {
        ProtocolRow::NAME
    }

    fn add(&mut self, view: &View) {
        let (protocol, application) = (
            view.column(ProtocolRow::protocol),
            view.column(ProtocolRow::application),
        );
        let (flows, packets) = (
            view.column(ProtocolRow::flows),
            view.column(ProtocolRow::packets),
        );
        let bytes = view.column(ProtocolRow::wire_bytes);
        for row in view.rows() {
            let mut into = vec![&mut self.all];
            if protocol.is(row, "tcp") {
                into.push(&mut self.tcp);
                match application.text(row) {
                    Some("http") => into.push(&mut self.http),
                    Some("https") => into.push(&mut self.https),
                    _ => {}
                }
            }
            for traffic in into {
                traffic.flows += flows.u64(row).unwrap_or(0);
                traffic.packets += packets.u64(row).unwrap_or(0);
                traffic.bytes += bytes.u64(row).unwrap_or(0);
            }
        }
    }

    fn finish(&self, found: &mut Findings) {
        let (all, tcp) = (&self.all, &self.tcp);
        let mut group = found.group("Traffic (§4.1)");
        group.count(
            "packets",
            all.packets,
            "packets",
            "All packets that could be parsed.",
        );
        group.count(
            "bytes",
            all.bytes,
            "B",
            "Bytes of those packets on the wire.",
        );
        group.count("flows", all.flows, "flows", "5-tuples of addresses, ports and protocol; a new SYN on an old one or an hour of silence begins a new flow.");
        group.share(
            "TCP, of flows",
            (tcp.flows, all.flows),
            95.3,
            "Flows whose protocol is TCP.",
        );
        group.share(
            "TCP, of bytes",
            (tcp.bytes, all.bytes),
            97.2,
            "Bytes on the wire in TCP flows.",
        );
        let http = "Server port 80 or 8080.";
        group.share(
            "HTTP, of TCP bytes",
            (self.http.bytes, tcp.bytes),
            76.6,
            http,
        );
        group.share(
            "HTTP, of TCP flows",
            (self.http.flows, tcp.flows),
            50.1,
            http,
        );
        let https = "Server port 443. In 2012 most of the web was not encrypted.";
        group.share(
            "HTTPS, of TCP bytes",
            (self.https.bytes, tcp.bytes),
            14.8,
            https,
        );
        group.share(
            "HTTPS, of TCP flows",
            (self.https.flows, tcp.flows),
            42.1,
            https,
        );
    }
}
