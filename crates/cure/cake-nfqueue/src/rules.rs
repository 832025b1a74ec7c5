//! The rules that send packets of an interface to our queues.
//!
//! Two tables of nftables, for IPv4 and IPv6, with the flag that makes them ours: the kernel removes them when our socket
//! closes, whatever closes it (Linux 5.12), and refuses them to everybody else meanwhile. Where nftables was built without
//! `queue`, the same is done by the target of xtables through its compatibility layer.
//!
//! A verdict cannot change a packet of which only the headers were copied. So one that is to carry "congestion experienced" leaves its
//! queue with a mark, and a chain right behind it does the rest: as nft tells it, `meta mark 0x756e6365 ip ecn set ce meta mark set 0`.

use crate::error::ShapeError;
use crate::nfnetlink::{APPEND, CREATE, EXCLUSIVE, Nfnetlink, with_answer};
use crate::queues::CONGESTED;
use std::io;
use tracing::debug;
use unbloat_os::netlink::Attributes;
use unbloat_units::{Both, Direction};

const NFTABLES: u16 = 10 << 8;
const BATCH_BEGIN: u16 = 16;
const BATCH_END: u16 = 17;
const NEW_TABLE: u16 = NFTABLES;
const NEW_CHAIN: u16 = NFTABLES | 3;
const NEW_RULE: u16 = NFTABLES | 6;
const IPV4: u8 = 2;
const IPV6: u8 = 10;
const OWNER: u32 = 2;

/// Where packets are held: hook, and priority among others there. Incoming ones after addresses were translated back, outgoing ones
/// before they are translated, so that hosts behind a router are told apart.
const PREROUTING: (u32, i32) = (0, -90);
const POSTROUTING: (u32, i32) = (4, 90);
/// Keys of `meta`.
const IN_NAME: u32 = 6;
const OUT_NAME: u32 = 7;

/// Rules that stand as long as this lives.
#[derive(Debug)]
pub(crate) struct Rules {
    _socket: Nfnetlink,
}

#[derive(Clone, Copy, Debug)]
enum Queueing {
    Native,
    Compatible,
}

impl Rules {
    /// Packets of a direction go to its queue; a direction without one is left alone.
    pub(crate) fn install(interface: &str, queues: Both<Option<u16>>) -> Result<Rules, ShapeError> {
        let mut fault = None;
        for queueing in [Queueing::Native, Queueing::Compatible] {
            let mut socket = Nfnetlink::open().map_err(ShapeError::kernel("opening netlink"))?;
            let batch = batch(&mut socket, interface, queues, queueing);
            match socket.tell(&batch) {
                Ok(()) => {
                    debug!(interface, ?queueing, ?queues, "rules installed");
                    return Ok(Rules { _socket: socket });
                }
                Err(error) => {
                    debug!(interface, ?queueing, %error, "rules refused");
                    fault = Some(error);
                }
            }
            let code = fault.as_ref().and_then(io::Error::raw_os_error);
            // No such expression: the other way may do.
            if code != Some(2) {
                break;
            }
        }
        let fault = fault.unwrap_or_else(|| io::Error::other("no answer"));
        Err(match fault.raw_os_error() {
            Some(17) => ShapeError::Taken {
                interface: interface.to_owned(),
            },
            // The queues were ours to take, so it is not the right that lacks: the table is somebody else's.
            Some(1) => ShapeError::Taken {
                interface: interface.to_owned(),
            },
            Some(13) => ShapeError::NotAllowed(fault),
            _ => ShapeError::NoQueue(fault),
        })
    }
}

/// The rule of a direction's chain, as nft writes it.
pub(crate) fn text(interface: &str, chain: Direction) -> String {
    let (hook, name, priority) = match chain {
        Direction::Down => ("prerouting", "iifname", PREROUTING.1),
        Direction::Up => ("postrouting", "oifname", POSTROUTING.1),
    };
    format!(
        "nftables table unbloat-{interface} (ip, ip6), chain {chain}, hook {hook} priority {priority}: {name} \"{interface}\" queue flags bypass"
    )
}

fn batch(
    socket: &mut Nfnetlink,
    interface: &str,
    queues: Both<Option<u16>>,
    queueing: Queueing,
) -> Vec<Vec<u8>> {
    let table = format!("unbloat-{interface}");
    let mut messages = vec![socket.message(BATCH_BEGIN, 0, 0, 10, &[])];
    for family in [IPV4, IPV6] {
        let flags = OWNER.to_be_bytes();
        let attributes = Attributes::new().text(1, &table).bytes(2, &flags);
        messages.push(socket.message(
            NEW_TABLE,
            CREATE | EXCLUSIVE,
            family,
            0,
            &attributes.to_bytes(),
        ));
        let sides = [
            (Direction::Down, queues.down, PREROUTING, IN_NAME),
            (Direction::Up, queues.up, POSTROUTING, OUT_NAME),
        ];
        for (direction, queue, (hook, priority), key) in sides {
            let Some(queue) = queue else {
                continue;
            };
            let queued = expressions(interface, key, queue, queueing);
            let marking = format!("{direction}-congested");
            // Behind the queue: a verdict lets a packet go on there.
            let chains = [
                (direction.name(), priority, queued),
                (marking.as_str(), priority + 1, congestion(family)),
            ];
            for (chain, order, rule) in chains {
                let place = Attributes::new()
                    .bytes(1, &hook.to_be_bytes())
                    .bytes(2, &order.to_be_bytes());
                let made = Attributes::new()
                    .text(1, &table)
                    .text(3, chain)
                    .nested(4, &place)
                    .text(7, "filter");
                messages.push(socket.message(NEW_CHAIN, CREATE, family, 0, &made.to_bytes()));
                let told = Attributes::new()
                    .text(1, &table)
                    .text(2, chain)
                    .nested(4, &rule);
                let told = told.to_bytes();
                messages.push(socket.message(NEW_RULE, CREATE | APPEND, family, 0, &told));
            }
        }
    }
    // The end of a batch is not answered: what precedes it is.
    let last = messages.pop().map(with_answer);
    messages.extend(last);
    let end = socket.message(BATCH_END, 0, 0, 10, &[]);
    messages.push(end);
    messages
}

/// `meta iifname "eth0" queue num 1 bypass`.
fn expressions(interface: &str, key: u32, queue: u16, queueing: Queueing) -> Attributes {
    const REGISTER: u32 = 1;
    let be = |value: u32| value.to_be_bytes();
    let meta = Attributes::new().bytes(1, &be(REGISTER)).bytes(2, &be(key));
    let mut name = [0; 16];
    name[..interface.len()].copy_from_slice(interface.as_bytes());
    let value = Attributes::new().bytes(1, &name);
    let compare = Attributes::new()
        .bytes(1, &be(REGISTER))
        .bytes(2, &be(0))
        .nested(3, &value);
    let (target, held) = match queueing {
        Queueing::Native => ("queue", native(queue)),
        Queueing::Compatible => ("target", compatible(queue)),
    };
    list([("meta", meta), ("cmp", compare), (target, held)])
}

fn list<const N: usize>(all: [(&str, Attributes); N]) -> Attributes {
    let one = |list: Attributes, (kind, data): (&str, Attributes)| {
        list.nested(1, &Attributes::new().text(1, kind).nested(2, &data))
    };
    all.into_iter().fold(Attributes::new(), one)
}

/// Sets both bits of ECN in what has our mark, and takes the mark off.
fn congestion(family: u8) -> Attributes {
    const REGISTER: u32 = 1;
    const MARK: u32 = 3;
    const NETWORK_HEADER: u32 = 1;
    const INTERNET_CHECKSUM: u32 = 1;
    const CHECKSUM_AT: u32 = 10;
    let be = |value: u32| value.to_be_bytes();
    let value = |bytes: &[u8]| Attributes::new().bytes(1, bytes);
    // Two bytes from the start: version, length and TOS of IPv4; version, traffic class and the flow label's beginning of IPv6.
    let (mask, bits) = match family {
        IPV4 => ([0xff, 0xfc], [0, 0x03]),
        _ => ([0xff, 0xcf], [0, 0x30]),
    };
    let place = |attributes: Attributes| {
        let based = attributes.bytes(2, &be(NETWORK_HEADER));
        based.bytes(3, &be(0)).bytes(4, &be(2))
    };
    let read = place(Attributes::new().bytes(1, &be(REGISTER)));
    let mut write = place(Attributes::new()).bytes(5, &be(REGISTER));
    if family == IPV4 {
        write = write
            .bytes(6, &be(INTERNET_CHECKSUM))
            .bytes(7, &be(CHECKSUM_AT));
    }
    let set = Attributes::new()
        .bytes(1, &be(REGISTER))
        .bytes(2, &be(REGISTER))
        .bytes(3, &be(2))
        .nested(4, &value(&mask))
        .nested(5, &value(&bits));
    let marked = Attributes::new()
        .bytes(1, &be(REGISTER))
        .bytes(2, &be(MARK));
    let is_ours = Attributes::new()
        .bytes(1, &be(REGISTER))
        .bytes(2, &be(0))
        .nested(3, &value(&CONGESTED.to_ne_bytes()));
    let nothing = Attributes::new()
        .bytes(1, &be(REGISTER))
        .nested(2, &value(&[0; 4]));
    let unmark = Attributes::new()
        .bytes(2, &be(MARK))
        .bytes(3, &be(REGISTER));
    list([
        ("meta", marked),
        ("cmp", is_ours),
        ("payload", read),
        ("bitwise", set),
        ("payload", write),
        ("immediate", nothing),
        ("meta", unmark),
    ])
}

const BYPASS: u16 = 1;

fn native(queue: u16) -> Attributes {
    let be = |value: u16| value.to_be_bytes();
    Attributes::new()
        .bytes(1, &be(queue))
        .bytes(2, &be(1))
        .bytes(3, &be(BYPASS))
}

/// `struct xt_NFQ_info_v3`: queue, how many, flags, padded to eight bytes.
fn compatible(queue: u16) -> Attributes {
    let words = [queue, 1, BYPASS, 0].map(u16::to_ne_bytes);
    Attributes::new()
        .text(1, "NFQUEUE")
        .bytes(2, &3_u32.to_be_bytes())
        .bytes(3, &words.concat())
}
