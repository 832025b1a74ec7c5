//! Queues of the kernel that hold packets until they are told what becomes of them.

use crate::error::ShapeError;
use crate::nfnetlink::{Nfnetlink, header};
use std::io;
use unbloat_os::batch::Batch;
use unbloat_os::netlink::{Attributes, Netlink, append, attributes, messages};

const QUEUE: u16 = 3 << 8;
const PACKET: u16 = QUEUE;
const VERDICT: u16 = QUEUE | 1;
const CONFIG: u16 = QUEUE | 2;
/// Attributes with the flags of a queue that are to change, and with their values.
const MASK: u16 = 4;
const FLAGS: u16 = 5;
const FAIL_OPEN: u32 = 1;

/// Headers with all options, IPv6 with an extension or two.
const COPIED: u32 = 160;
/// Packets that one queue holds at most; beyond, they pass. CAKE's own limit of memory is reached sooner.
const HELD: u32 = 16_384;
const ROOM: usize = 8 << 20;
/// Packets that are taken by one system call.
pub(crate) const BATCH: usize = 64;
/// Of a message about a packet: 300 with the copied bytes.
const MESSAGE: usize = 512;

/// Of the attribute with the kernel's mark, in packets and verdicts.
const MARK: u16 = 3;
/// The mark of packets that are to carry "congestion experienced", between the queue and the next rule: "unce" in ASCII.
pub(crate) const CONGESTED: u32 = 0x756e_6365;

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Drop,
    Accept,
    /// It leaves with a mark for our rules, of the kernel's, that set "congestion experienced" and take the mark off again.
    Congested,
}

impl Verdict {
    fn code(self) -> u32 {
        match self {
            Verdict::Drop => 0,
            Verdict::Accept | Verdict::Congested => 1,
        }
    }
}

/// A packet that is held, as far as it was copied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeldPacket<'a> {
    pub queue: u16,
    pub id: u32,
    /// From the IP header on.
    pub bytes: &'a [u8],
    pub len: u32,
    /// The kernel's mark of it; somebody's, if it is not 0.
    pub mark: u32,
    /// The kernel splits it later.
    pub is_large: bool,
}

/// Queues that live as long as this.
pub(crate) struct Queues {
    socket: Nfnetlink,
    batch: Box<Batch<BATCH, MESSAGE>>,
    told: Vec<u8>,
}

impl Queues {
    pub(crate) fn open() -> Result<Queues, ShapeError> {
        let socket = Nfnetlink::open().map_err(ShapeError::kernel("opening netlink"))?;
        socket
            .make_room(ROOM)
            .map_err(ShapeError::kernel("making room for packets"))?;
        Ok(Queues {
            socket,
            batch: Box::default(),
            told: Vec::new(),
        })
    }

    /// A queue of its own number, the first free one from `first` on.
    pub(crate) fn bind(&mut self, first: u16) -> Result<u16, ShapeError> {
        const TRIED: u16 = 256;
        let mut fault = io::Error::other("no free queue number");
        for number in first..first.saturating_add(TRIED) {
            match self.try_bind(number) {
                Ok(()) => return Ok(number),
                Err(error) if matches!(error.raw_os_error(), Some(1 | 16)) => fault = error,
                Err(error) => return Err(ShapeError::NoQueue(error)),
            }
        }
        Err(ShapeError::kernel("taking a queue")(fault))
    }

    fn try_bind(&mut self, number: u16) -> io::Result<()> {
        const COPY_PACKET: u8 = 2;
        let command = Attributes::new().bytes(1, &[1, 0, 0, 0]);
        self.socket.ask(CONFIG, number, &command)?;
        let mut copy = COPIED.to_be_bytes().to_vec();
        copy.push(COPY_PACKET);
        let params = Attributes::new()
            .bytes(2, &copy)
            .bytes(3, &HELD.to_be_bytes())
            .bytes(MASK, &FAIL_OPEN.to_be_bytes())
            .bytes(FLAGS, &FAIL_OPEN.to_be_bytes());
        self.socket.ask(CONFIG, number, &params)
    }

    pub(crate) fn socket(&self) -> &Netlink {
        self.socket.socket()
    }

    /// Hands on the packets that have come since, and tells how many those are. Fewer than [`BATCH`]: no more waited.
    pub(crate) fn receive(&mut self, mut take: impl FnMut(HeldPacket<'_>)) -> io::Result<usize> {
        let count = self.socket.receive(&mut self.batch)?;
        for datagram in self.batch.packets() {
            for (kind, body) in messages(datagram.head) {
                if kind == PACKET
                    && let Some(packet) = packet(body)
                {
                    take(packet);
                }
            }
        }
        Ok(count)
    }

    /// Whether large packets come as they are, or split; told to the kernel by [`Queues::flush`].
    pub(crate) fn keep_large(&mut self, queue: u16, keep: bool) {
        const GSO: u32 = 4;
        let flags = if keep { GSO } else { 0 };
        let told = Attributes::new()
            .bytes(MASK, &GSO.to_be_bytes())
            .bytes(FLAGS, &flags.to_be_bytes());
        let body = [&header(0, queue)[..], &told.to_bytes()];
        append(&mut self.told, CONFIG, 0, 0, &body);
    }

    /// Says what becomes of a packet; told to the kernel by [`Queues::flush`].
    pub(crate) fn decide(&mut self, queue: u16, id: u32, verdict: Verdict) {
        const LEN: u16 = 12;
        const VERDICT_HEADER: u16 = 2;
        const MARK_LEN: u16 = 8;
        let mut attributes = [0; (LEN + MARK_LEN) as usize];
        attributes[..2].copy_from_slice(&LEN.to_ne_bytes());
        attributes[2..4].copy_from_slice(&VERDICT_HEADER.to_ne_bytes());
        attributes[4..8].copy_from_slice(&verdict.code().to_be_bytes());
        attributes[8..12].copy_from_slice(&id.to_be_bytes());
        attributes[12..14].copy_from_slice(&MARK_LEN.to_ne_bytes());
        attributes[14..16].copy_from_slice(&MARK.to_ne_bytes());
        attributes[16..].copy_from_slice(&CONGESTED.to_be_bytes());
        let told = match verdict {
            Verdict::Congested => &attributes[..],
            Verdict::Accept | Verdict::Drop => &attributes[..usize::from(LEN)],
        };
        append(&mut self.told, VERDICT, 0, 0, &[&header(0, queue), told]);
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if !self.told.is_empty() {
            self.socket.socket().send(&self.told)?;
            self.told.clear();
        }
        Ok(())
    }
}

fn packet(body: &[u8]) -> Option<HeldPacket<'_>> {
    const PACKET_HEADER: u16 = 1;
    const PAYLOAD: u16 = 10;
    const WHOLE_LEN: u16 = 13;
    const STATE: u16 = 14;
    const IS_LARGE: u32 = 2;
    let (header, all) = body.split_at_checked(4)?;
    let word = |bytes: &[u8]| Some(u32::from_be_bytes(bytes.get(..4)?.try_into().ok()?));
    let (mut id, mut whole, mut bytes) = (None, None, &[][..]);
    let (mut mark, mut state) = (None, None);
    for (kind, value) in attributes(all) {
        match kind {
            PACKET_HEADER => id = word(value),
            MARK => mark = word(value),
            PAYLOAD => bytes = value,
            WHOLE_LEN => whole = word(value),
            STATE => state = word(value),
            _ => {}
        }
    }
    Some(HeldPacket {
        queue: u16::from_be_bytes([header[2], header[3]]),
        id: id?,
        bytes,
        len: whole.unwrap_or(bytes.len() as u32),
        mark: mark.unwrap_or(0),
        is_large: state.unwrap_or(0) & IS_LARGE != 0,
    })
}
