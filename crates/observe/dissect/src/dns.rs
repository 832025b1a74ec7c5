//! The header and first question of a DNS message, enough to pair answers with questions.
//!
//! # References
//! RFC 1035 §4.1 (messages), RFC 6895 §2 (operation and response codes), RFC 6762 §18 (multicast
//! DNS: same layout, id 0, the top bit of the class has another meaning).
//!
//! # Where we differ
//! | source | ours | why |
//! |---|---|---|
//! | RFC 6891 §6.1.3: the upper 8 bits of the response code are in the OPT record | the header's 4 bits | OPT is last and often cut; BADVERS and BADCOOKIE therefore show as the code they extend |

use crate::cursor::Cursor;
use crate::dns_name::DnsName;
use std::fmt;

/// What the beginning of a DNS message over UDP says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DnsMessage {
    pub id: u16,
    pub is_response: bool,
    pub opcode: u8,
    /// TC: the answer did not fit, the client will ask again over TCP.
    pub is_truncated: bool,
    pub rcode: DnsRcode,
    /// Questions and answers that the header announces.
    pub questions: u16,
    pub answers: u16,
    /// The first question's name; `None` if there is no question or it is cut or malformed.
    pub name: Option<DnsName>,
    /// What the first question asks for; `None` if `name` is or if it is cut.
    pub record_type: Option<DnsType>,
}

impl DnsMessage {
    /// Reads a UDP payload, cut anywhere; `None` without a whole header.
    ///
    /// Whether the bytes are DNS at all is the caller's knowledge (ports 53 and 5353): any 12
    /// bytes are a header.
    pub fn parse(payload: &[u8]) -> Option<DnsMessage> {
        let mut cursor = Cursor::new(payload);
        let id = cursor.u16()?;
        let flags = cursor.u16()?;
        let questions = cursor.u16()?;
        let answers = cursor.u16()?;
        cursor.u32()?;
        let mut message = DnsMessage {
            id,
            is_response: flags & 0x8000 != 0,
            opcode: (flags >> 11 & 0xf) as u8,
            is_truncated: flags & 0x0200 != 0,
            rcode: DnsRcode((flags & 0xf) as u8),
            questions,
            answers,
            name: None,
            record_type: None,
        };
        if questions > 0 {
            message.name = DnsName::read(&mut cursor, payload);
            message.record_type = message.name.and_then(|_| cursor.u16()).map(DnsType);
        }
        Some(message)
    }
}

macro_rules! named_numbers {
    ($(#[$doc:meta])* $type:ident($number:ty), $unnamed:literal, $($value:literal => $name:literal,)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type(pub $number);

        impl $type {
            /// The registered name, if the number has one here; `Display` prints any number.
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some($name),)*
                    _ => None,
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, "{}{}", $unnamed, self.0),
                }
            }
        }
    };
}

named_numbers! {
    /// A response code (RFC 6895 §2.3), without its extension.
    DnsRcode(u8), "RCODE",
    0 => "NOERROR",
    1 => "FORMERR",
    2 => "SERVFAIL",
    3 => "NXDOMAIN",
    4 => "NOTIMP",
    5 => "REFUSED",
    6 => "YXDOMAIN",
    7 => "YXRRSET",
    8 => "NXRRSET",
    9 => "NOTAUTH",
    10 => "NOTZONE",
    11 => "DSOTYPENI",
}

named_numbers! {
    /// A record type; the ones without a name here print as in RFC 3597 §5 (`TYPE731`).
    DnsType(u16), "TYPE",
    1 => "A",
    2 => "NS",
    5 => "CNAME",
    6 => "SOA",
    11 => "WKS",
    12 => "PTR",
    13 => "HINFO",
    15 => "MX",
    16 => "TXT",
    28 => "AAAA",
    29 => "LOC",
    33 => "SRV",
    35 => "NAPTR",
    39 => "DNAME",
    41 => "OPT",
    43 => "DS",
    44 => "SSHFP",
    46 => "RRSIG",
    47 => "NSEC",
    48 => "DNSKEY",
    50 => "NSEC3",
    51 => "NSEC3PARAM",
    52 => "TLSA",
    59 => "CDS",
    60 => "CDNSKEY",
    64 => "SVCB",
    65 => "HTTPS",
    99 => "SPF",
    249 => "TKEY",
    250 => "TSIG",
    251 => "IXFR",
    252 => "AXFR",
    255 => "ANY",
    256 => "URI",
    257 => "CAA",
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const QUERY: &[u8] = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x03www\x07example\x03com\0\0\x1c\0\x01";
    const NXDOMAIN: &[u8] =
        b"\x12\x34\x87\x83\0\x01\0\x02\0\0\0\0\x03www\x07example\x03com\0\0\x01\0\x01\xc0\x0c";

    #[test]
    fn a_query_shows_what_is_asked() {
        let query = DnsMessage::parse(QUERY).unwrap();
        assert_eq!(
            (query.id, query.is_response, query.opcode),
            (0x1234, false, 0)
        );
        assert_eq!(query.name.unwrap().to_string(), "www.example.com");
        assert_eq!(query.record_type.unwrap().to_string(), "AAAA");
        assert_eq!((query.questions, query.answers), (1, 0));
    }

    #[test]
    fn a_response_shows_its_code_and_truncation() {
        let response = DnsMessage::parse(NXDOMAIN).unwrap();
        assert!(response.is_response && response.is_truncated);
        assert_eq!(response.rcode.to_string(), "NXDOMAIN");
        assert_eq!(response.answers, 2);
    }

    #[test]
    fn a_multicast_response_without_question_has_no_name() {
        let response = DnsMessage::parse(b"\0\0\x84\0\0\0\0\x01\0\0\0\0\x05local\0").unwrap();
        assert!(response.is_response);
        assert_eq!((response.name, response.record_type), (None, None));
    }

    #[test]
    fn numbers_without_a_name_print_as_numbers() {
        assert_eq!(DnsType(731).to_string(), "TYPE731");
        assert_eq!(DnsRcode(13).to_string(), "RCODE13");
    }

    #[test]
    fn every_cut_of_a_message_gives_the_same_value_or_none() {
        for whole in [QUERY, NXDOMAIN] {
            let truth = DnsMessage::parse(whole).unwrap();
            for cut in 0..whole.len() {
                let Some(seen) = DnsMessage::parse(&whole[..cut]) else {
                    assert!(cut < 12);
                    continue;
                };
                assert!(seen.name.is_none() || seen.name == truth.name);
                assert!(seen.record_type.is_none() || seen.record_type == truth.record_type);
                let known = DnsMessage {
                    name: truth.name,
                    record_type: truth.record_type,
                    ..seen
                };
                assert_eq!(known, truth);
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_give_a_short_printable_name_or_none(
            header in prop::array::uniform12(any::<u8>()),
            body in prop::collection::vec(prop_oneof![Just(0xc0), 0u8..20, any::<u8>()], 0..300),
        ) {
            let bytes = [header.as_slice(), &body].concat();
            let message = DnsMessage::parse(&bytes).unwrap();
            if let Some(name) = message.name {
                let text = name.to_string();
                prop_assert!(text.len() <= 4 * 253);
                prop_assert!(text.bytes().all(|b| b.is_ascii_graphic()), "{text}");
            }
        }
    }
}
