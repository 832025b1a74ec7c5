//! The host that a flow's client asked for, where the client says so in the clear (§7).
//!
//! From the first of: the server name of a TLS hello, that of a QUIC hello, the host of an HTTP/1
//! request without its port. A TLS hello that goes on in a second segment shows what its first one
//! holds.

use super::{Analysis, Context, Findings, Flow, Sees};
use crate::flow::{FlowCore, Naming};
use unbloat_dissect::{ClientHello, HttpRequest};
use unbloat_table::{Columns, RowWriter, columns};
use unbloat_wire::{PacketHeader, protocol};

/// Takes in a packet whose payload was kept. Called for the few packets that have one, of TCP and
/// UDP alike, so flows without a name pay one pointer.
#[cold]
pub(crate) fn observe(core: &mut FlowCore, header: &PacketHeader, payload: &[u8]) {
    let is_known = matches!(core.naming.as_deref(), Some(Naming::Known(_)));
    if is_known || !header.is_uplink() {
        return;
    }
    let name = match header.protocol {
        protocol::TCP => tls_name(payload).or_else(|| http_name(payload)),
        protocol::UDP if is_quic(payload) => greet(core, payload),
        _ => None,
    };
    if let Some(name) = name {
        core.naming = Some(Box::new(Naming::Known(name.into_boxed_str())));
    }
}

fn tls_name(payload: &[u8]) -> Option<String> {
    ClientHello::parse_records(payload)?.server_name
}

/// The host, without the port that may follow it (RFC 9110 §7.2).
fn http_name(payload: &[u8]) -> Option<String> {
    let mut host = HttpRequest::parse(payload)?.host?.to_string();
    let is_port = |end: &str| !end.is_empty() && end.bytes().all(|b| b.is_ascii_digit());
    if let Some((name, end)) = host.rsplit_once(':')
        && is_port(end)
    {
        host.truncate(name.len());
    }
    (!host.is_empty()).then_some(host)
}

/// A long header (RFC 9000 §17.2); DNS messages, which are kept as well, have none on this port.
fn is_quic(payload: &[u8]) -> bool {
    payload.first().is_some_and(|first| first & 0xc0 == 0xc0)
}

fn greet(core: &mut FlowCore, datagram: &[u8]) -> Option<String> {
    const DNS: [u16; 2] = [53, 5353];
    if DNS.contains(&core.server_port) || DNS.contains(&core.client_port) {
        return None;
    }
    let naming = core
        .naming
        .get_or_insert_with(|| Box::new(Naming::Greeting(Box::default())));
    match naming.as_mut() {
        Naming::Known(_) => None,
        Naming::Greeting(client) => client.read(datagram)?.hello.server_name,
    }
}

pub(crate) struct Names;

columns! {
    pub struct NamesColumns<'a> {
        server_name: Option<&'a str> = "host that the client asked for: TLS or QUIC server name, else HTTP host",
    }
}

impl Analysis for Names {
    type Light = ();
    type Deep = ();
    type Columns = NamesColumns<'static>;
    const SEES: Sees = Sees::NONE;
    const IS_OF_ALL: bool = true;

    fn is_alone(_: &str) -> bool {
        true
    }

    fn finish(
        (): &mut (),
        _: Option<&mut ()>,
        flow: &Flow<'_>,
        _: &mut Findings,
        _: &mut Context<'_>,
        row: &mut RowWriter<'_>,
    ) {
        let server_name = match flow.core.naming.as_deref() {
            Some(Naming::Known(name)) => Some(name.as_ref()),
            _ => None,
        };
        NamesColumns { server_name }.write(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::orientation::Evidence;
    use unbloat_wire::PacketFlags;

    fn named(number: u8, up: bool, payloads: &[&[u8]]) -> Option<String> {
        let mut header = PacketHeader {
            protocol: number,
            dst_port: 443,
            ..PacketHeader::default()
        };
        if up {
            header.flags.set(PacketFlags::UPLINK);
        }
        let mut core = FlowCore::new(&header, 0, 0, Evidence::Port);
        for payload in payloads {
            observe(&mut core, &header, payload);
        }
        match core.naming.as_deref() {
            Some(Naming::Known(name)) => Some(name.to_string()),
            _ => None,
        }
    }

    /// A hello of TLS 1.2 with nothing in it but the server name.
    fn tls_hello(host: &str) -> Vec<u8> {
        let list = [&[0, 0, host.len() as u8][..], host.as_bytes()].concat();
        let data = [&[0, list.len() as u8][..], &list].concat();
        let extension = [&[0, 0, 0, data.len() as u8][..], &data].concat();
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.extend([0, 0, 2, 0x13, 1, 1, 0, 0, extension.len() as u8]);
        body.extend(extension);
        let message = [&[1, 0, 0, body.len() as u8][..], &body].concat();
        [&[22, 3, 1, 0, message.len() as u8][..], &message].concat()
    }

    #[test]
    fn the_first_name_that_a_client_tells_holds() {
        let hello = tls_hello("a.example");
        let request = b"GET / HTTP/1.1\r\nHost: b.example:8080\r\n\r\n";
        let tcp = protocol::TCP;
        assert_eq!(named(tcp, true, &[&hello, request]).unwrap(), "a.example");
        assert_eq!(named(tcp, true, &[request, &hello]).unwrap(), "b.example");
        assert_eq!(
            named(tcp, true, &[b"GET / HTTP/1.1\r\n\r\n", &hello]).unwrap(),
            "a.example"
        );
    }

    #[test]
    fn what_servers_say_and_what_is_no_hello_names_nothing() {
        assert_eq!(
            named(protocol::TCP, false, &[&tls_hello("a.example")]),
            None
        );
        assert_eq!(
            named(protocol::UDP, true, &[&[0xc3; 40], b"\x12\x34\x01"]),
            None
        );
    }

    #[test]
    fn an_ipv6_host_keeps_its_colons() {
        let host = |value: &str| {
            let request = format!("GET / HTTP/1.1\r\nHost: {value}\r\n\r\n");
            named(protocol::TCP, true, &[request.as_bytes()])
        };
        assert_eq!(host("[2001:db8::1]:80").unwrap(), "[2001:db8::1]");
        assert_eq!(host("[2001:db8::1]").unwrap(), "[2001:db8::1]");
        assert_eq!(host(":80"), None);
    }

    #[test]
    fn a_flow_without_a_name_pays_one_pointer() {
        assert_eq!(size_of::<Option<Box<Naming>>>(), size_of::<usize>());
    }
}
