//! The smallest DNS that looks right on the wire (RFC 1035, section 4): one question, one address.

use crate::core::{FiveTuple, client_address};
use crate::workload::plan::{Dns, exponential};
use crate::workload::{SERVER, WorkloadLog};
use fastrand::Rng;
use std::net::SocketAddrV4;
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::time::timeout;

const HEADER: usize = 12;
const PORT: u16 = 53;
const UDP: u8 = 17;
const TRIES: u32 = 3;
const PATIENCE: Duration = Duration::from_secs(1);

/// Answers questions for ever: `mute...` never, `nx...` with NXDOMAIN, others with an address.
pub(crate) async fn answer(socket: UdpSocket) {
    let mut buffer = [0; 512];
    loop {
        let Ok((length, from)) = socket.recv_from(&mut buffer).await else {
            continue;
        };
        if let Some(reply) = reply(&buffer[..length]) {
            // A reply that cannot be sent is a lost one; the client asks again.
            let _ = socket.send_to(&reply, from).await;
        }
    }
}

fn reply(question: &[u8]) -> Option<Vec<u8>> {
    let first_label = question.get(HEADER + 1..)?;
    if first_label.starts_with(b"mute") {
        return None;
    }
    let unknown = first_label.starts_with(b"nx");
    let mut reply = question.to_vec();
    reply[2..4].copy_from_slice(&[0x81, if unknown { 0x83 } else { 0x80 }]);
    if !unknown {
        reply[7] = 1;
        // A pointer to the question's name, type A, class IN, 60 s, four bytes.
        reply.extend([0xc0, HEADER as u8, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
        reply.extend(SERVER.octets());
    }
    Some(reply)
}

/// A query for the address of `name`, recursion desired.
fn query(id: u16, name: &str) -> Vec<u8> {
    let mut query = id.to_be_bytes().to_vec();
    query.extend([1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    for label in name.split('.') {
        query.push(label.len() as u8);
        query.extend(label.bytes());
    }
    query.extend([0, 0, 1, 0, 1]);
    query
}

/// Asks until the run ends.
pub(crate) async fn ask(dns: Dns, client: usize, mut rng: Rng, log: WorkloadLog) {
    loop {
        tokio::time::sleep(exponential(&mut rng, dns.pause)).await;
        let name = dns.name(&mut rng);
        // Without a socket there is no question; the next one may find a free port.
        let _ = ask_once(client, rng.u16(..), &name, &log).await;
    }
}

async fn ask_once(client: usize, id: u16, name: &str, log: &WorkloadLog) -> std::io::Result<()> {
    let socket = UdpSocket::bind((client_address(client), 0)).await?;
    socket.connect(SocketAddrV4::new(SERVER, PORT)).await?;
    let tuple = FiveTuple {
        protocol: UDP,
        source: client_address(client),
        source_port: socket.local_addr()?.port(),
        destination: SERVER,
        destination_port: PORT,
    };
    let start = log.clock.now();
    let mut buffer = [0; 512];
    for retries in 0..TRIES {
        socket.send(&query(id, name)).await?;
        if let Ok(received) = timeout(PATIENCE, socket.recv(&mut buffer)).await {
            received?;
            let rcode = buffer[3] & 15;
            let latency = (log.clock.now() - start).as_ms();
            log.dns(
                start,
                &format!("{tuple},{name},{rcode},{latency:.3},{retries}"),
            );
            return Ok(());
        }
    }
    log.dns(start, &format!("{tuple},{name},,,{}", TRIES - 1));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_repeats_the_question_and_answers_by_name() {
        let question = query(0x1234, "h7.test");
        let known = reply(&question).unwrap();
        assert_eq!(known[..4], [0x12, 0x34, 0x81, 0x80]);
        assert_eq!(known[HEADER..question.len()], question[HEADER..]);
        assert_eq!(known[known.len() - 4..], [10, 99, 0, 1]);
        assert_eq!(reply(&query(1, "nx7.test")).unwrap()[3] & 15, 3);
        assert_eq!(reply(&query(1, "mute7.test")), None);
        assert_eq!(reply(&[0; 3]), None);
    }
}
