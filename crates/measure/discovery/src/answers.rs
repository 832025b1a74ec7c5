//! What answers say: which sender serves under which name at which port.

use crate::{FINGERPRINT, SERVICE};
use simple_dns::rdata::{RData, SRV, TXT};
use simple_dns::{CLASS, Label, Name, OPCODE, Packet, PacketFlag, QCLASS, QTYPE, Question, TYPE};
use std::net::{Ipv4Addr, SocketAddrV4};
use unbloat_untrusted::one_line;

/// Servers that are remembered; a home has one, an office a few.
const MOST: usize = 32;
/// The port of multicast DNS. What comes from another one is no answer (RFC 6762, section 6).
pub const PORT: u16 = 5353;
/// The longest message (RFC 6762, section 17).
pub const LONGEST: usize = 9000;

/// The root's name, type and class.
const SHORTEST_QUESTION: usize = 5;
/// The same, time to live, and the length of no data.
const SHORTEST_RECORD: usize = 11;

/// A server that has announced itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// As it calls itself, harmless for a terminal.
    pub name: String,
    pub address: SocketAddrV4,
    /// SHA-256 of its certificate, as it says: for a person to compare, nothing to rely on.
    pub fingerprint: Option<String>,
}

/// A network that this host is part of, as an interface has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    pub address: Ipv4Addr,
    pub mask: Ipv4Addr,
}

impl Link {
    fn has(self, other: Ipv4Addr) -> bool {
        let net = |address: Ipv4Addr| address & self.mask;
        net(self.address) == net(other) && !other.is_broadcast() && !other.is_multicast()
    }
}

/// One sender's service; its port is known once its SRV record has come.
#[derive(Debug, PartialEq, Eq)]
struct Heard {
    instance: Vec<u8>,
    sender: Ipv4Addr,
    port: Option<u16>,
    fingerprint: Option<String>,
}

/// All that was heard so far.
#[derive(Debug, Default)]
pub struct Answers {
    heard: Vec<Heard>,
}

impl Answers {
    /// Takes a datagram that came by this link. What is no answer about our service changes nothing.
    pub fn take(&mut self, datagram: &[u8], from: SocketAddrV4, link: Link) {
        if from.port() != PORT || !link.has(*from.ip()) || datagram.len() > LONGEST {
            return;
        }
        if !has_room_for_its_records(datagram) {
            return;
        }
        let Ok(packet) = Packet::parse(datagram) else {
            return;
        };
        if !packet.has_flags(PacketFlag::RESPONSE) || packet.opcode() != OPCODE::StandardQuery {
            return;
        }
        let records = packet.answers.iter().chain(&packet.additional_records);
        for record in records.filter(|record| record.class == CLASS::IN) {
            let is_gone = record.ttl == 0;
            match &record.rdata {
                RData::PTR(to) if is_service(record.name.get_labels()) => {
                    self.hear(&to.0, *from.ip(), is_gone, |_| {});
                }
                RData::SRV(service) => {
                    self.hear(&record.name, *from.ip(), is_gone, |heard| {
                        heard.port = port(service);
                    });
                }
                RData::TXT(text) => {
                    self.hear(&record.name, *from.ip(), false, |heard| {
                        heard.fingerprint = fingerprint(text);
                    });
                }
                _ => {}
            }
        }
    }

    fn hear(
        &mut self,
        name: &Name<'_>,
        sender: Ipv4Addr,
        is_gone: bool,
        change: impl FnOnce(&mut Heard),
    ) {
        let Some((instance, service)) = name.get_labels().split_first() else {
            return;
        };
        if !is_service(service) {
            return;
        }
        let instance: &[u8] = instance.as_ref();
        let is_it = |heard: &Heard| heard.sender == sender && heard.instance == instance;
        let known = self.heard.iter().position(is_it);
        match (known, is_gone) {
            (Some(at), true) => drop(self.heard.remove(at)),
            (Some(at), false) => change(&mut self.heard[at]),
            (None, false) if self.heard.len() < MOST => {
                let mut heard = Heard {
                    instance: instance.to_vec(),
                    sender,
                    port: None,
                    fingerprint: None,
                };
                change(&mut heard);
                self.heard.push(heard);
            }
            (None, _) => {}
        }
    }

    /// Those whose port is known, in the order of their names.
    pub fn servers(&self) -> Vec<Server> {
        let known = self.heard.iter().filter_map(|heard| {
            Some(Server {
                name: one_line(&String::from_utf8_lossy(&heard.instance)),
                address: SocketAddrV4::new(heard.sender, heard.port?),
                fingerprint: heard.fingerprint.clone(),
            })
        });
        let mut servers: Vec<Server> = known.collect();
        servers.sort_by(|a, b| (&a.name, a.address).cmp(&(&b.name, b.address)));
        servers
    }

    /// The next question: for all servers, and for what is not known of those that were heard of.
    pub fn question(&self) -> Vec<u8> {
        let mut packet = Packet::new_query(0);
        let ask = |name: Name<'static>, kind: TYPE| {
            Question::new(name, QTYPE::TYPE(kind), QCLASS::CLASS(CLASS::IN), false)
        };
        packet.questions.push(ask(name(None), TYPE::PTR));
        for heard in self.heard.iter().filter(|heard| heard.port.is_none()) {
            for kind in [TYPE::SRV, TYPE::TXT] {
                packet
                    .questions
                    .push(ask(name(Some(&heard.instance)), kind));
            }
        }
        packet
            .build_bytes_vec_compressed()
            .expect("names that were parsed")
    }
}

/// Whether as many questions and records fit into a datagram as its header claims (RFC 1035, sections 4.1.1 to 4.1.3).
/// `simple_dns` reserves memory for all of them before it reads the first: 9 MB for twelve bytes.
fn has_room_for_its_records(datagram: &[u8]) -> bool {
    let Some((header, rest)) = datagram.split_first_chunk::<12>() else {
        return false;
    };
    let counts = header[4..].as_chunks::<2>().0;
    let [questions, records @ ..] = counts else {
        return false;
    };
    let shortest = |count: &[u8; 2], one: usize| one * usize::from(u16::from_be_bytes(*count));
    let records = records.iter().map(|count| shortest(count, SHORTEST_RECORD));
    shortest(questions, SHORTEST_QUESTION) + records.sum::<usize>() <= rest.len()
}

fn name(instance: Option<&[u8]>) -> Name<'static> {
    let instance = instance.map(|label| Label::new_unchecked(label.to_vec()));
    let service = SERVICE.map(|label| Label::new_unchecked(label.as_bytes()));
    let labels: Vec<Label<'static>> = instance.into_iter().chain(service).collect();
    Name::new_with_labels(&labels)
}

fn is_service(labels: &[Label<'_>]) -> bool {
    let same = |(label, own): (&Label<'_>, &str)| {
        let label: &[u8] = label.as_ref();
        label.eq_ignore_ascii_case(own.as_bytes())
    };
    labels.len() == SERVICE.len() && labels.iter().zip(SERVICE).all(same)
}

fn port(service: &SRV<'_>) -> Option<u16> {
    (service.port != 0).then_some(service.port)
}

fn fingerprint(text: &TXT<'_>) -> Option<String> {
    let mut pairs = text.iter_raw();
    let (_, value) = pairs.find(|(key, _)| key.eq_ignore_ascii_case(FINGERPRINT.as_bytes()))?;
    let digits = std::str::from_utf8(value?).ok()?;
    let is_whole = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_whole.then(|| digits.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use simple_dns::ResourceRecord;
    use simple_dns::rdata::PTR;

    const LINK: Link = Link {
        address: Ipv4Addr::new(192, 168, 1, 9),
        mask: Ipv4Addr::new(255, 255, 255, 0),
    };
    const BOX: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(192, 168, 1, 5), PORT);

    fn record(name: Name<'static>, ttl: u32, data: RData<'static>) -> ResourceRecord<'static> {
        ResourceRecord::new(name, CLASS::IN, ttl, data)
    }

    fn pointer(instance: &[u8], ttl: u32) -> ResourceRecord<'static> {
        let to = PTR(super::name(Some(instance)));
        record(super::name(None), ttl, RData::PTR(to))
    }

    fn service(instance: &[u8], port: u16) -> ResourceRecord<'static> {
        let data = SRV {
            priority: 0,
            weight: 0,
            port,
            target: Name::new_unchecked("elsewhere.local"),
        };
        record(super::name(Some(instance)), 120, RData::SRV(data))
    }

    fn text(instance: &[u8], words: &'static str) -> ResourceRecord<'static> {
        let data = TXT::new().with_string(words).unwrap();
        record(super::name(Some(instance)), 120, RData::TXT(data))
    }

    fn answer(records: Vec<ResourceRecord<'static>>) -> Vec<u8> {
        let mut packet = Packet::new_reply(0);
        packet.answers = records;
        packet.build_bytes_vec_compressed().unwrap()
    }

    fn heard(datagram: &[u8], from: SocketAddrV4) -> Vec<Server> {
        let mut answers = Answers::default();
        answers.take(datagram, from, LINK);
        answers.servers()
    }

    #[test]
    fn a_server_is_where_its_answer_came_from() {
        let print = "fp=abababababababababababababababababababababababababababababababab";
        let records = vec![
            pointer(b"box", 120),
            service(b"box", 4043),
            text(b"box", print),
        ];
        let found = heard(&answer(records), BOX);
        let expected = Server {
            name: "box".to_owned(),
            address: "192.168.1.5:4043".parse().unwrap(),
            fingerprint: Some("ab".repeat(32)),
        };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn strangers_to_the_link_are_not_heard() {
        let datagram = answer(vec![pointer(b"box", 120), service(b"box", 4043)]);
        assert_eq!(heard(&datagram, BOX).len(), 1);
        for other in [
            "192.168.2.5:5353",
            "192.168.1.5:5354",
            "8.8.8.8:5353",
            "255.255.255.255:5353",
        ] {
            assert_eq!(heard(&datagram, other.parse().unwrap()), [], "{other}");
        }
    }

    #[test]
    fn questions_other_services_and_port_zero_are_no_servers() {
        let mut query = Packet::new_query(0);
        query.answers = vec![service(b"box", 4043)];
        assert_eq!(heard(&query.build_bytes_vec().unwrap(), BOX), []);
        assert_eq!(heard(&answer(vec![service(b"box", 0)]), BOX), []);
        assert_eq!(heard(&answer(vec![pointer(b"box", 120)]), BOX), []);
        let mut printer = service(b"box", 631);
        printer.name = Name::new_unchecked("box._ipp._tcp.local");
        assert_eq!(heard(&answer(vec![printer]), BOX), []);
    }

    #[test]
    fn claims_that_do_not_fit_are_not_believed() {
        let whole = answer(vec![service(b"box", 4043)]);
        let room = |datagram: &[u8]| has_room_for_its_records(datagram);
        assert!(room(&whole) && room(&Packet::new_query(0).build_bytes_vec().unwrap()));
        assert!(!room(&whole[..11]) && !room(&whole[..20]));
        for count in [4, 6, 8, 10] {
            let mut claims = whole.clone();
            claims[count] = 0x40;
            assert!(!room(&claims), "{count}");
            assert_eq!(heard(&claims, BOX), []);
        }
    }

    #[test]
    fn what_is_not_known_is_asked_for() {
        let mut answers = Answers::default();
        answers.take(&answer(vec![pointer(b"my box.1", 120)]), BOX, LINK);
        let question = answers.question();
        let asked = Packet::parse(&question).unwrap();
        let names: Vec<String> = asked
            .questions
            .iter()
            .map(|q| q.qname.to_string())
            .collect();
        let own = r"my box\.1._unbloat._tcp.local";
        assert_eq!(names, ["_unbloat._tcp.local", own, own]);
        answers.take(&answer(vec![service(b"my box.1", 7)]), BOX, LINK);
        assert_eq!(answers.servers()[0].name, "my box.1");
        assert_eq!(
            Packet::parse(&answers.question()).unwrap().questions.len(),
            1
        );
    }

    #[test]
    fn a_server_that_says_goodbye_is_gone() {
        let mut answers = Answers::default();
        answers.take(&answer(vec![service(b"box", 4043)]), BOX, LINK);
        // Nobody else can send it away.
        let other = "192.168.1.6:5353".parse().unwrap();
        answers.take(&answer(vec![pointer(b"box", 0)]), other, LINK);
        assert_eq!(answers.servers().len(), 1);
        answers.take(&answer(vec![pointer(b"box", 0)]), BOX, LINK);
        assert_eq!(answers.servers(), []);
    }

    #[test]
    fn names_are_harmless_and_few() {
        let evil = answer(vec![service(b"\x1b]0;owned\x07\xe2\x80\xaebox", 4043)]);
        assert_eq!(heard(&evil, BOX)[0].name, "]0;ownedbox");
        let mut answers = Answers::default();
        for number in 0..1000_u16 {
            let name = number.to_string();
            answers.take(
                &answer(vec![service(name.as_bytes(), 1 + number)]),
                BOX,
                LINK,
            );
        }
        assert_eq!(answers.servers().len(), MOST);
        for bad in ["fp=12", "fp", "", "fp=zz"] {
            let found = heard(&answer(vec![service(b"a", 1), text(b"a", bad)]), BOX);
            assert_eq!(found[0].fingerprint, None, "{bad}");
        }
    }
}
