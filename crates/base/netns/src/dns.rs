//! A name server for a bed's hosts (RFC 1035, section 4): over UDP, for addresses only.

use crate::error::BedError;
use crate::host::Host;
use crate::names::{DOMAIN, Names};
use rustix::event::{PollFd, PollFlags, poll};
use simple_dns::rdata::RData;
use simple_dns::{CLASS, Packet, PacketFlag, QTYPE, RCODE, ResourceRecord, TYPE};
use std::io::{PipeWriter, pipe};
use std::net::{IpAddr, UdpSocket};
use std::sync::Arc;
use std::thread::JoinHandle;

const PORT: u16 = 53;
/// Queries over UDP are shorter unless somebody pads them; longer ones are cut and so refused.
const LONGEST_QUERY: usize = 1232;
/// Addresses of a bed may change at any time.
const TIME_TO_LIVE: u32 = 1;

/// A running name server. It ends when it is dropped.
#[derive(Debug)]
pub struct NameServer {
    names: Arc<Names>,
    /// The thread ends when this is closed.
    end: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

impl NameServer {
    pub(crate) fn start(
        host: &Host,
        address: IpAddr,
        names: Arc<Names>,
    ) -> Result<NameServer, BedError> {
        let failed = |source| BedError::NameServer {
            host: host.role().to_owned(),
            address,
            source,
        };
        let socket = host.within(|| UdpSocket::bind((address, PORT)))?;
        let socket = socket.map_err(failed)?;
        let (ended, end) = pipe().map_err(failed)?;
        let known = names.clone();
        let thread = std::thread::Builder::new().name("unbloat-names".to_owned());
        let thread = thread.spawn(move || serve(&socket, &ended, &known));
        let thread = thread.map_err(|source| BedError::Thread { source })?;
        names.ask_at(Some(address));
        Ok(NameServer {
            names,
            end: Some(end),
            thread: Some(thread),
        })
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.names.ask_at(None);
        drop(self.end.take());
        // A panic of the thread has been told by itself.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Answers until the other end of `ended` is closed.
fn serve(socket: &UdpSocket, ended: &std::io::PipeReader, names: &Names) {
    let mut query = [0; LONGEST_QUERY];
    loop {
        let mut waiting = [
            PollFd::new(socket, PollFlags::IN),
            PollFd::new(ended, PollFlags::IN),
        ];
        // An interrupted wait is repeated, and one for sockets cannot fail otherwise.
        let _ = poll(&mut waiting, None);
        if !waiting[1].revents().is_empty() {
            return;
        }
        if waiting[0].revents().is_empty() {
            continue;
        }
        // Errors are of earlier answers, to hosts that are gone.
        let Ok((length, from)) = socket.recv_from(&mut query) else {
            continue;
        };
        if let Some(answer) = answer(&query[..length], names) {
            // An answer that cannot be sent is a lost one; the client asks again.
            let _ = socket.send_to(&answer, from);
        }
    }
}

/// The answer to a query; `None` for what is none.
fn answer(bytes: &[u8], names: &Names) -> Option<Vec<u8>> {
    let query = Packet::parse(bytes).ok()?;
    if query.has_flags(PacketFlag::RESPONSE) {
        return None;
    }
    let mut reply = Packet::new_reply(query.id());
    reply.set_flags(PacketFlag::AUTHORITATIVE_ANSWER);
    if query.has_flags(PacketFlag::RECURSION_DESIRED) {
        reply.set_flags(PacketFlag::RECURSION_DESIRED);
    }
    let question = query.questions.first()?.clone();
    let name = question.qname.to_string();
    match names.look_up(&name) {
        Some(addresses) => {
            let data = addresses
                .into_iter()
                .filter_map(|a| data(a, question.qtype));
            let records = data.map(|data| {
                ResourceRecord::new(question.qname.clone(), CLASS::IN, TIME_TO_LIVE, data)
            });
            reply.answers.extend(records);
        }
        // The domain itself exists, without an address.
        None if name.eq_ignore_ascii_case(DOMAIN) => {}
        None => *reply.rcode_mut() = RCODE::NameError,
    }
    reply.questions.push(question);
    reply.build_bytes_vec_compressed().ok()
}

/// The address, if it is of the kind that was asked for.
fn data(address: IpAddr, wanted: QTYPE) -> Option<RData<'static>> {
    let (kind, data) = match address {
        IpAddr::V4(address) => (TYPE::A, RData::A(address.into())),
        IpAddr::V6(address) => (TYPE::AAAA, RData::AAAA(address.into())),
    };
    (wanted == QTYPE::ANY || wanted == QTYPE::TYPE(kind)).then_some(data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use simple_dns::{Name, Question};

    fn asked(name: &str, kind: TYPE) -> (RCODE, usize) {
        let names = Names::default();
        names.add("server", [10, 99, 0, 1].into());
        let mut query = Packet::new_query(7);
        let name = Name::new(name).unwrap();
        let question = Question::new(name.clone(), kind.into(), CLASS::IN.into(), false);
        query.questions.push(question);
        let bytes = answer(&query.build_bytes_vec().unwrap(), &names).unwrap();
        let reply = Packet::parse(&bytes).unwrap();
        assert_eq!((reply.id(), &reply.questions[0].qname), (7, &name));
        assert!(reply.has_flags(PacketFlag::RESPONSE));
        (reply.rcode(), reply.answers.len())
    }

    #[test]
    fn hosts_have_addresses_and_others_are_not_there() {
        assert_eq!(asked("server.lab", TYPE::A), (RCODE::NoError, 1));
        assert_eq!(asked("server.lab", TYPE::AAAA), (RCODE::NoError, 0));
        assert_eq!(asked("server.lab", TYPE::MX), (RCODE::NoError, 0));
        assert_eq!(asked("client.lab", TYPE::A), (RCODE::NameError, 0));
        assert_eq!(asked("example.org", TYPE::A), (RCODE::NameError, 0));
    }

    #[test]
    fn what_is_no_query_is_not_answered() {
        let names = Names::default();
        let reply = Packet::new_reply(7).build_bytes_vec().unwrap();
        for bytes in [&reply[..], &[0; 3], &[0xff; 600], &[]] {
            assert_eq!(answer(bytes, &names), None);
        }
    }
}
