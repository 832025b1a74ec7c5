//! One bulk TCP transfer.

use super::bed::{Bed, RECEIVER, SENDER};
use super::fault::{Doing, Fault};
use super::socket;
use super::tap::TCP_PORTS;
use crate::outcome::{FlowOutcome, FlowSample};
use rustix::io::Errno;
use socket2::Socket;
use std::io;
use std::os::fd::AsFd;
use unbloat_os::tcp_info::TcpInfo;
use unbloat_os::{sockopt, tcp};

/// System calls cost more here than packets do.
const WRITE_BYTES: usize = 1 << 20;
/// The receiver is woken for so much. More would make it read so late that the window suffers.
const READ_BYTES: i32 = 16 << 10;
static ZEROS: [u8; WRITE_BYTES] = [0; WRITE_BYTES];
const SENDER_PORTS: u16 = 40_001;

pub(crate) struct Transfer {
    number: u16,
    sender: Socket,
    listener: Socket,
    /// Once the connection stands.
    receiver: Option<Socket>,
    samples: Vec<FlowSample>,
    received_in_warmup: u64,
}

impl Transfer {
    /// Opens the sockets, which do nothing yet.
    pub(crate) fn new(bed: &Bed, number: u16, congestion_control: &str) -> Result<Transfer, Fault> {
        bed.receiver.enter()?;
        let listener = socket::tcp()?;
        let listen = || {
            listener.bind(&socket::address(RECEIVER, TCP_PORTS + number))?;
            listener.set_tcp_congestion(congestion_control.as_bytes())?;
            listener.listen(1)
        };
        listen().doing(|| format!("listening for flow {number} ({congestion_control})"))?;
        bed.sender.enter()?;
        let sender = socket::tcp()?;
        let prepare = || {
            sender.bind(&socket::address(SENDER, SENDER_PORTS + number))?;
            sender.set_tcp_congestion(congestion_control.as_bytes())
        };
        prepare().doing(|| format!("preparing flow {number} ({congestion_control})"))?;
        Ok(Transfer {
            number,
            sender,
            listener,
            receiver: None,
            samples: Vec::new(),
            received_in_warmup: 0,
        })
    }

    pub(crate) fn start(&self) -> Result<(), Fault> {
        let port = TCP_PORTS + self.number;
        match self.sender.connect(&socket::address(RECEIVER, port)) {
            Err(error) if Errno::from_io_error(&error) != Some(Errno::INPROGRESS) => Err(error),
            _ => Ok(()),
        }
        .doing(|| format!("connecting flow {}", self.number))
    }

    pub(crate) fn sender(&self) -> &Socket {
        &self.sender
    }

    pub(crate) fn listener(&self) -> &Socket {
        &self.listener
    }

    /// Takes the connection; its receiving socket is to be waited for.
    pub(crate) fn accept(&mut self) -> Result<&Socket, Fault> {
        let accept = || {
            let (receiver, _) = self.listener.accept()?;
            receiver.set_nonblocking(true)?;
            sockopt::set_receive_low_water(receiver.as_fd(), READ_BYTES)?;
            Ok::<_, io::Error>(receiver)
        };
        let receiver = accept().doing(|| format!("accepting flow {}", self.number))?;
        Ok(self.receiver.insert(receiver))
    }

    /// Fills the sender's buffer.
    pub(crate) fn write(&self) -> Result<(), Fault> {
        match self.sender.send(&ZEROS) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        }
        .doing(|| format!("sending on flow {}", self.number))
    }

    /// Has the kernel throw away what was received.
    pub(crate) fn read(&self) -> Result<(), Fault> {
        let Some(receiver) = &self.receiver else {
            return Ok(());
        };
        tcp::discard(receiver.as_fd(), WRITE_BYTES)
            .map(drop)
            .doing(|| format!("receiving on flow {}", self.number))
    }

    pub(crate) fn sample(&mut self, at_ns: u64) -> Result<(), Fault> {
        let info = info(&self.sender)?;
        self.samples.push(FlowSample {
            at_ns,
            cwnd: info.cwnd_segments(),
            ssthresh: info.ssthresh_segments(),
            srtt_us: (info.rtt().as_ns() / 1_000) as u32,
            min_rtt_us: info
                .min_rtt()
                .map_or(u32::MAX, |rtt| (rtt.as_ns() / 1_000) as u32),
            unacked: info.unacked_segments(),
            retransmits: info.retransmissions() as u32,
            state: info.congestion_state_number(),
            pacing_bps: info.pacing_bytes_per_second().saturating_mul(8),
            received_bytes: self.received()?,
        });
        Ok(())
    }

    /// What came until now is left out of the goodput.
    pub(crate) fn end_warmup(&mut self) -> Result<(), Fault> {
        self.received_in_warmup = self.received()?;
        Ok(())
    }

    /// Bytes that arrived in order.
    fn received(&self) -> Result<u64, Fault> {
        match &self.receiver {
            Some(receiver) => Ok(info(receiver)?.received().as_u64()),
            None => Ok(0),
        }
    }

    /// Sums up what the transfer did in so many seconds after its warm-up.
    pub(crate) fn finish(self, seconds: f64) -> Result<FlowOutcome, Fault> {
        let info = info(&self.sender)?;
        let bytes = self.received()? - self.received_in_warmup;
        let name = self.sender.tcp_congestion();
        let name = name.doing(|| "asking for the congestion control".to_owned())?;
        let name = String::from_utf8_lossy(&name);
        Ok(FlowOutcome {
            congestion_control: name.trim_end_matches('\0').to_owned(),
            bytes,
            goodput_bps: bytes as f64 * 8.0 / seconds,
            retransmits: info.retransmissions() as u32,
            timeouts: info.timeouts() as u16,
            samples: self.samples,
        })
    }
}

fn info(socket: &Socket) -> Result<TcpInfo, Fault> {
    TcpInfo::of(socket.as_fd()).doing(|| "reading TCP_INFO".to_owned())
}
