//! Every 10 ms: what the kernel says of our load connections, what they have carried, and how much may wait in them.

use crate::beside::Tally;
use crate::flow::{Flow, Flows};
use crate::interface::Interface;
use crate::measured::{Beside, Count, Counter, KernelSample, KernelState, Passed, Side};
use crate::plan::Stack;
use crate::socket;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use unbloat_os::clock::Clock;
use unbloat_os::tcp_info::TcpInfo;
use unbloat_units::{Bytes, Delta, Direction, Time};

const EVERY: Duration = Duration::from_millis(10);
/// Counts of bytes are of every so many looks: 50 ms, as the server's account.
const COUNTED_EVERY: u64 = 5;

/// A look that took longer is repeated, so often at most.
const PROMPT: Delta = Delta::ms(1);
const LOOKS: usize = 3;

/// Looks at flows until it is stopped.
pub struct Sampler {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Samples>,
}

#[derive(Default)]
pub struct Samples {
    pub kernel: Vec<KernelSample>,
    pub counts: Vec<Count>,
    pub beside: Vec<Beside>,
    pub interface: Option<Passed>,
}

impl Sampler {
    /// The window is the largest that downloads' sockets are to offer; the interface, the one towards the server.
    pub fn begin(
        flows: Arc<Flows>,
        beside: Tally,
        clock: Clock,
        (window, mut interface): (Option<u32>, Option<Interface>),
    ) -> std::io::Result<Sampler> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::Builder::new()
            .name("kernel view".into())
            .spawn(move || {
                let mut samples = Samples {
                    interface: interface.as_ref().map(|interface| Passed {
                        name: interface.name().to_owned(),
                        counts: Vec::new(),
                    }),
                    ..Samples::default()
                };
                for look in 0.. {
                    if stopped.load(Ordering::Relaxed) {
                        break;
                    }
                    let counts = look % COUNTED_EVERY == 0;
                    for flow in flows.open() {
                        if let (Direction::Down, Some(window)) = (flow.direction, window) {
                            // It was accepted when the socket was made.
                            flow.with_socket(|socket| {
                                socket::clamp_window(socket.as_fd(), window).ok()
                            });
                        }
                        samples.look(&flow, clock, counts);
                    }
                    if counts {
                        samples.beside.push(beside.look(clock.now()));
                        samples.pass(interface.as_mut(), clock);
                    }
                    std::thread::sleep(EVERY);
                }
                samples
            })?;
        Ok(Sampler { stop, thread })
    }

    pub fn end(self) -> Samples {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

impl Samples {
    fn pass(&mut self, interface: Option<&mut Interface>, clock: Clock) {
        let counted = interface.and_then(|interface| interface.look());
        if let (Some(bytes), Some(passed)) = (counted, &mut self.interface) {
            let at = clock.now();
            passed.counts.push(Beside { at, bytes });
        }
    }

    fn look(&mut self, flow: &Flow, clock: Clock, counts: bool) {
        let looked = flow.with_socket(|socket| timed(clock, || TcpInfo::of(socket.as_fd())));
        let at = looked.as_ref().map_or_else(|| clock.now(), |(at, _)| *at);
        let count = |counter, bytes| Count {
            at,
            flow: flow.number,
            direction: flow.direction,
            counter,
            bytes,
        };
        if counts && flow.direction == Direction::Down {
            let read = Bytes::new(flow.pace.bytes.load(Ordering::Relaxed));
            self.counts.push(count(Counter::ClientRead, read));
        }
        let Some((_, Ok(info))) = looked else {
            return;
        };
        if counts && flow.direction == Direction::Up {
            self.counts.push(count(Counter::Acknowledged, info.acked()));
        }
        if flow.direction == Direction::Up && flow.stack == Stack::NetworkOnly {
            tune(flow, &info);
        }
        self.kernel.push(sample(flow, at, &info));
    }
}

/// What was seen and when. On a busy machine this thread may have to wait between clock and socket: then it looks again.
fn timed<T>(clock: Clock, look: impl Fn() -> T) -> (Time, T) {
    let mut best: Option<(Delta, Time, T)> = None;
    for _ in 0..LOOKS {
        let before = clock.now();
        let seen = look();
        let took = clock.now().since(before);
        if best.as_ref().is_none_or(|(least, ..)| took < *least) {
            best = Some((took, before + took / 2, seen));
        }
        if took < PROMPT {
            break;
        }
    }
    let (_, at, seen) = best.expect("it was looked at least once");
    (at, seen)
}

/// draft-ietf-ippm-responsiveness-09: 5 ms of its rate, set anew as the rate is.
///
/// The draft takes goodput, which falls when the sender is held too short and stays there. The window over the round-trip time does
/// not, and is the rate while a queue stands; of BBR, whose window is twice that, it is the pacing.
fn tune(flow: &Flow, info: &TcpInfo) {
    let by_window = info.cwnd().over(info.rtt());
    let rate = [by_window, info.pacing_rate()].into_iter().flatten().min();
    let limited = flow.with_socket(|socket| socket::limit_unsent(socket.as_fd(), rate, info.mss()));
    if let Some(Ok(bytes)) = limited {
        flow.pace.set_unsent(bytes);
    }
}

pub fn sample(flow: &Flow, at: Time, info: &TcpInfo) -> KernelSample {
    KernelSample {
        at,
        side: Side::Client,
        flow: flow.number,
        direction: flow.direction,
        state: state(info),
    }
}

fn state(info: &TcpInfo) -> KernelState {
    KernelState {
        rtt: Some(info.rtt()).filter(|rtt| *rtt > Delta::ZERO),
        min_rtt: info.min_rtt(),
        cwnd: info.cwnd(),
        in_flight: info.in_flight(),
        unsent: info.unsent(),
        acked: info.acked(),
        delivered: Some(info.delivered()),
        received: info.received(),
        segments_received: Some(info.data_segments_received()),
        retransmissions: info.retransmissions(),
        delivery_rate: info.delivery_rate(),
        busy: Some(info.busy()),
        window_limited: Some(info.window_limited()),
        buffer_limited: Some(info.buffer_limited()),
    }
}
