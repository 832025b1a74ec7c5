//! Datagrams at a fixed pace, on a thread of their own.

use crate::stamped;
use crate::thread::hurry;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread::JoinHandle;
use unbloat_irtt::{Client, Clocks, Echo, Event, Plan, Poll};
use unbloat_os::clock::Clock;
use unbloat_units::{Delta, Time};

/// Until it looks again whether it is to end.
const LOOK: Delta = Delta::ms(20);
/// A datagram that is sent that much later than it was due says something of this machine.
pub const LATE: Delta = Delta::ms(1);
/// More than any Ethernet carries.
const LARGEST: usize = 9_216;

/// An echo that runs.
pub struct Echoing {
    shared: Arc<Shared>,
    /// None once it has ended.
    thread: Option<JoinHandle<Echoed>>,
}

struct Shared {
    stop: AtomicBool,
    is_open: AtomicBool,
    has_ended: AtomicBool,
    /// Of the last reply; negative before the first.
    rtt_ns: AtomicI64,
    least_ns: AtomicI64,
    /// When the last reply came; negative before the first.
    heard_ns: AtomicI64,
    /// Between datagrams, from now on.
    pace_ns: AtomicI64,
}

/// All that came of it.
#[derive(Default)]
pub struct Echoed {
    pub echoes: Vec<Echo>,
    /// From when on datagrams left at which interval.
    pub paces: Vec<(Time, Delta)>,
    /// When datagrams were sent late.
    pub late: Vec<Time>,
    pub missed: u64,
    pub is_realtime: bool,
    /// Why it never began, or ended early.
    pub failure: Option<String>,
}

impl Echoing {
    pub fn begin(to: SocketAddr, plan: Plan, clock: Clock) -> std::io::Result<Echoing> {
        let any = match to {
            SocketAddr::V4(_) => "0.0.0.0:0",
            SocketAddr::V6(_) => "[::]:0",
        };
        let socket = UdpSocket::bind(any)?;
        socket.connect(to)?;
        socket.set_nonblocking(true)?;
        stamped::stamp(socket.as_fd())?;
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            is_open: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            rtt_ns: AtomicI64::new(-1),
            least_ns: AtomicI64::new(i64::MAX),
            heard_ns: AtomicI64::new(-1),
            pace_ns: AtomicI64::new(plan.interval.as_ns()),
        });
        let of_thread = shared.clone();
        let builder = std::thread::Builder::new().name("echo".into());
        let thread = builder.spawn(move || {
            let echoed = Running::new(&socket, plan, clock, &of_thread).run();
            of_thread.has_ended.store(true, Ordering::Relaxed);
            echoed
        })?;
        Ok(Echoing {
            shared,
            thread: Some(thread),
        })
    }

    /// The server agreed to it.
    pub fn is_open(&self) -> bool {
        self.shared.is_open.load(Ordering::Relaxed)
    }

    pub fn has_ended(&self) -> bool {
        self.shared.has_ended.load(Ordering::Relaxed)
    }

    /// Sends so often from now on.
    pub fn pace_at(&self, interval: Delta) {
        self.shared
            .pace_ns
            .store(interval.as_ns(), Ordering::Relaxed);
    }

    /// Of the last reply.
    pub fn rtt(&self) -> Option<Delta> {
        let ns = self.shared.rtt_ns.load(Ordering::Relaxed);
        (ns >= 0).then(|| Delta::ns(ns))
    }

    /// Of all replies so far.
    pub fn least_rtt(&self) -> Option<Delta> {
        let ns = self.shared.least_ns.load(Ordering::Relaxed);
        (ns < i64::MAX).then(|| Delta::ns(ns))
    }

    /// When the last reply came.
    pub fn heard(&self) -> Option<Time> {
        let ns = self.shared.heard_ns.load(Ordering::Relaxed);
        (ns >= 0).then(|| Time::from_ns(ns))
    }

    /// Stops sending; what is under way is awaited.
    pub fn end(mut self) -> Echoed {
        self.shared.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        ended.and_then(Result::ok).unwrap_or_default()
    }
}

/// One that is not wanted any more ends by itself.
impl Drop for Echoing {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

struct Running<'a> {
    socket: &'a UdpSocket,
    client: Client,
    clock: Clock,
    shared: &'a Shared,
    /// Sent so far.
    requests: usize,
    echoed: Echoed,
}

impl Running<'_> {
    fn new<'a>(socket: &'a UdpSocket, plan: Plan, clock: Clock, shared: &'a Shared) -> Running<'a> {
        Running {
            socket,
            client: Client::new(plan),
            clock,
            shared,
            requests: 0,
            echoed: Echoed {
                is_realtime: hurry(),
                ..Echoed::default()
            },
        }
    }

    fn run(mut self) -> Echoed {
        let mut packet = Vec::new();
        let mut due = Time::MAX;
        loop {
            if self.shared.stop.load(Ordering::Relaxed) {
                self.client.stop(self.clock.now());
            }
            self.keep_pace();
            match self.client.poll(self.clocks(), &mut packet) {
                Poll::Send => {
                    self.send(&packet, due);
                    due = Time::MAX;
                }
                Poll::Wait(until) => {
                    due = until;
                    let rest = until.since(self.clock.now());
                    stamped::wait(self.socket.as_fd(), rest.min(LOOK));
                }
                Poll::Done => break,
            }
            if let Err(error) = self.receive() {
                self.echoed.failure = Some(error.to_string());
                break;
            }
        }
        if let Some(Err(error)) = self.client.ended() {
            self.echoed.failure = Some(error.to_string());
        }
        self.echoed.missed = self.client.pace().missed;
        self.echoed.echoes = self.client.echoes().to_vec();
        self.echoed
    }

    fn keep_pace(&mut self) {
        let wanted = Delta::ns(self.shared.pace_ns.load(Ordering::Relaxed));
        let Some(agreed) = self.client.agreed() else {
            return;
        };
        let pace = wanted.max(agreed.interval);
        let differs = |last: Delta| (pace - last).as_ns().abs() * 8 > last.as_ns();
        if self
            .echoed
            .paces
            .last()
            .is_none_or(|(_, last)| differs(*last))
        {
            self.client.pace_at(pace);
            self.echoed.paces.push((self.clock.now(), pace));
        }
    }

    fn send(&mut self, packet: &[u8], due: Time) {
        let requests = self.client.echoes().len();
        let at = self.clocks();
        // What the kernel does not take is lost, as on any other queue.
        let _ = self.socket.send(packet);
        if requests > self.requests {
            self.client.sent(requests as u32 - 1, at);
            self.requests = requests;
        }
        if due != Time::MAX && at.mono.since(due) > LATE {
            self.echoed.late.push(at.mono);
        }
    }

    fn receive(&mut self) -> std::io::Result<()> {
        let mut buffer = [0; LARGEST];
        while let Some((length, at)) =
            stamped::receive(self.socket.as_fd(), &mut buffer, self.clock)?
        {
            let received = Clocks {
                wall: at + self.clock.wall_ahead(),
                mono: at,
            };
            match self.client.on_packet(&buffer[..length], received) {
                Ok(Event::Opened) => self.shared.is_open.store(true, Ordering::Relaxed),
                Ok(Event::Reply { seq }) => {
                    let echo = self.client.echoes().get(seq as usize);
                    let rtt = echo.and_then(Echo::rtt);
                    self.shared.heard_ns.store(at.as_ns(), Ordering::Relaxed);
                    if let Some(rtt) = rtt {
                        self.shared.rtt_ns.store(rtt.as_ns(), Ordering::Relaxed);
                        self.shared
                            .least_ns
                            .fetch_min(rtt.as_ns(), Ordering::Relaxed);
                    }
                }
                // Anybody may send anything here.
                Ok(_) | Err(_) => {}
            }
        }
        Ok(())
    }

    fn clocks(&self) -> Clocks {
        let mono = self.clock.now();
        Clocks {
            wall: mono + self.clock.wall_ahead(),
            mono,
        }
    }
}
