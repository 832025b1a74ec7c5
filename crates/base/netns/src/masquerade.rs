//! Hosts behind this one reach what it reaches, under its own address.
//!
//! Tables of nftables with the flag that makes them ours: the kernel removes them when the socket closes, whatever closes it (Linux
//! 5.12), so nothing is left of them however this process ends. As nft tells it, for each of both families:
//! `type nat hook postrouting priority srcnat; ip saddr NET oifname != "ub-shell0" masquerade`.
//!
//! A network that forwards only since and because there are hosts behind it must not do so for its neighbours:
//! `type filter hook forward priority filter; iifname "ub-shell*" accept; oifname "ub-shell*" ct state established,related accept; drop`.

use crate::error::BedError;
use crate::here::NAME;
use ipnet::IpNet;
use unbloat_os::netlink::{Attributes, Family, Netlink, append};

const NFTABLES: u16 = 10 << 8;
const NEW_TABLE: u16 = NFTABLES;
const NEW_CHAIN: u16 = NFTABLES | 3;
const NEW_RULE: u16 = NFTABLES | 6;
const BATCH_BEGIN: u16 = 16;
const BATCH_END: u16 = 17;
/// Families of netfilter.
const IPV4: u8 = 2;
const IPV6: u8 = 10;
const ACK: u16 = 4;
const CREATE: u16 = 0x400;
const EXCLUSIVE: u16 = 0x200;
const APPEND: u16 = 0x800;
/// Of a table: it goes with the socket that made it.
const OWNER: u32 = 2;
const FORWARD: u32 = 2;
const POSTROUTING: u32 = 4;
/// Where others translate source addresses, too.
const SOURCE_NAT: i32 = 100;
const FILTER: i32 = 0;
const CHAIN: &str = "out";
const FORWARDED: &str = "forwarded";
const DROP: u32 = 0;
const ACCEPT: u32 = 1;

/// Translates addresses as long as it lives.
#[derive(Debug)]
pub struct Masquerade {
    _socket: Netlink,
}

impl Masquerade {
    /// For what comes from these networks and leaves the calling thread's by any device but that one. With `is_alone` nothing else is
    /// forwarded over IPv4, but for the devices that differ from this one in their number.
    pub(crate) fn begin(
        device: &str,
        nets: &[IpNet],
        is_alone: bool,
    ) -> Result<Masquerade, BedError> {
        let refused = |source| BedError::Masquerade {
            host: NAME.to_owned(),
            source,
        };
        let socket = Netlink::open(Family::Netfilter).map_err(refused)?;
        socket
            .send(&batch(device, nets, is_alone))
            .map_err(refused)?;
        let told = socket.answer(|_| {});
        told.map_err(|refusal| refused(refusal.source))?;
        Ok(Masquerade { _socket: socket })
    }
}

/// What makes the tables, all or none; the last one of them is answered, or the first that is refused.
fn batch(device: &str, nets: &[IpNet], is_alone: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut number = 0;
    let mut tell = |kind, flags, family: u8, attributes: &Attributes| {
        number += 1;
        // Of a batch it names the part of netfilter that it is for.
        let resource: u16 = if kind < NFTABLES { NFTABLES >> 8 } else { 0 };
        let [high, low] = resource.to_be_bytes();
        let header = [family, 0, high, low];
        append(
            &mut bytes,
            kind,
            flags,
            number,
            &[&header, &attributes.to_bytes()],
        );
    };
    tell(BATCH_BEGIN, 0, 0, &Attributes::new());
    for (net, nth) in nets.iter().zip(1..) {
        let family = match net {
            IpNet::V4(_) => IPV4,
            IpNet::V6(_) => IPV6,
        };
        let table = Attributes::new().text(1, device);
        let owned = Attributes::new()
            .text(1, device)
            .bytes(2, &OWNER.to_be_bytes());
        tell(NEW_TABLE, CREATE | EXCLUSIVE, family, &owned);
        let chain = |name: &str, hook: u32, priority: i32, kind: &str| {
            let place = Attributes::new()
                .bytes(1, &hook.to_be_bytes())
                .bytes(2, &priority.to_be_bytes());
            let named = table.clone().text(3, name);
            named.nested(4, &place).text(7, kind)
        };
        let out = chain(CHAIN, POSTROUTING, SOURCE_NAT, "nat");
        tell(NEW_CHAIN, CREATE, family, &out);
        if is_alone && family == IPV4 {
            let forwarded = chain(FORWARDED, FORWARD, FILTER, "filter");
            tell(NEW_CHAIN, CREATE, family, &forwarded);
            for rule in forwarding_rules(device) {
                let rule = table.clone().text(2, FORWARDED).nested(4, &rule);
                tell(NEW_RULE, CREATE | APPEND, family, &rule);
            }
        }
        let rule = table.text(2, CHAIN).nested(4, &rule(device, *net));
        let answered = if nth == nets.len() { ACK } else { 0 };
        tell(NEW_RULE, CREATE | APPEND | answered, family, &rule);
    }
    tell(BATCH_END, 0, 0, &Attributes::new());
    bytes
}

/// What is forwarded where nothing was before.
fn forwarding_rules(device: &str) -> [Attributes; 3] {
    const IN_NAME: u32 = 6;
    const OUT_NAME: u32 = 7;
    const REGISTER: u32 = 1;
    const VERDICT: u32 = 0;
    const EQUAL: u32 = 0;
    const NOT_EQUAL: u32 = 1;
    const STATE: u32 = 0;
    // Bits of the two states (`enum ip_conntrack_info`), in the byte order of the host.
    const ESTABLISHED_OR_RELATED: u32 = 1 << 1 | 1 << 2;
    let be = |value: u32| value.to_be_bytes();
    let value = |bytes: &[u8]| Attributes::new().bytes(1, bytes);
    let prefix = device.trim_end_matches(|c: char| c.is_ascii_digit());
    let compared = |how: u32, with: &[u8]| {
        let asked = Attributes::new().bytes(1, &be(REGISTER)).bytes(2, &be(how));
        ("cmp", asked.nested(3, &value(with)))
    };
    // As many bytes as are compared.
    let named = |key: u32| {
        let name = Attributes::new().bytes(1, &be(REGISTER)).bytes(2, &be(key));
        [("meta", name), compared(EQUAL, prefix.as_bytes())]
    };
    let state = Attributes::new()
        .bytes(1, &be(REGISTER))
        .bytes(2, &be(STATE));
    let masked = Attributes::new()
        .bytes(1, &be(REGISTER))
        .bytes(2, &be(REGISTER))
        .bytes(3, &be(4))
        .nested(4, &value(&ESTABLISHED_OR_RELATED.to_ne_bytes()))
        .nested(5, &value(&[0; 4]));
    let answers = [
        ("ct", state),
        ("bitwise", masked),
        compared(NOT_EQUAL, &[0; 4]),
    ];
    let verdict = |code: u32| {
        let code = Attributes::new().bytes(1, &be(code));
        let data = Attributes::new().nested(2, &code);
        let immediate = Attributes::new().bytes(1, &be(VERDICT)).nested(2, &data);
        [("immediate", immediate)]
    };
    [
        listed(named(IN_NAME).into_iter().chain(verdict(ACCEPT))),
        listed(
            named(OUT_NAME)
                .into_iter()
                .chain(answers)
                .chain(verdict(ACCEPT)),
        ),
        listed(verdict(DROP)),
    ]
}

/// The expressions of a rule, one after the other.
fn listed<'a>(all: impl IntoIterator<Item = (&'a str, Attributes)>) -> Attributes {
    all.into_iter()
        .fold(Attributes::new(), |list, (kind, data)| {
            list.nested(1, &Attributes::new().text(1, kind).nested(2, &data))
        })
}

/// `saddr NET oifname != DEVICE masquerade`.
fn rule(device: &str, net: IpNet) -> Attributes {
    const REGISTER: u32 = 1;
    const NETWORK_HEADER: u32 = 1;
    const OUT_NAME: u32 = 7;
    const EQUAL: u32 = 0;
    const NOT_EQUAL: u32 = 1;
    let be = |value: u32| value.to_be_bytes();
    let value = |bytes: &[u8]| Attributes::new().bytes(1, bytes);
    let into_register = Attributes::new().bytes(1, &be(REGISTER));
    let compared = |how: u32, with: &[u8]| {
        let asked = Attributes::new().bytes(1, &be(REGISTER)).bytes(2, &be(how));
        asked.nested(3, &value(with))
    };
    // Where the source stands in the header.
    let (network, mask, at) = match net {
        IpNet::V4(net) => (
            net.network().octets().to_vec(),
            net.netmask().octets().to_vec(),
            12,
        ),
        IpNet::V6(net) => (
            net.network().octets().to_vec(),
            net.netmask().octets().to_vec(),
            8,
        ),
    };
    let length = network.len() as u32;
    let load = into_register
        .clone()
        .bytes(2, &be(NETWORK_HEADER))
        .bytes(3, &be(at))
        .bytes(4, &be(length));
    let masked = into_register
        .bytes(2, &be(REGISTER))
        .bytes(3, &be(length))
        .nested(4, &value(&mask))
        .nested(5, &value(&vec![0; network.len()]));
    let out = Attributes::new()
        .bytes(1, &be(REGISTER))
        .bytes(2, &be(OUT_NAME));
    let mut name = [0; 16];
    let taken = device.len().min(name.len() - 1);
    name[..taken].copy_from_slice(&device.as_bytes()[..taken]);
    let all = [
        ("payload", load),
        ("bitwise", masked),
        ("cmp", compared(EQUAL, &network)),
        ("meta", out),
        ("cmp", compared(NOT_EQUAL, &name)),
        ("masq", Attributes::new()),
    ];
    listed(all)
}
