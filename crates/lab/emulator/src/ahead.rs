//! The path in virtual time, at few system calls: packets are handed to the kernel before they are due.
//!
//! In a kernel whose time is virtual a system call costs more than all that a packet does, and its timers are exact. So here
//! the thread does not wake for each packet. A path ends in a delay: what leaves its bottleneck now is due only after that.
//! The thread wakes once in each such delay, sees all that came since (the kernel noted when), lets it go through the path as
//! of then, and gives the kernel what comes out, each packet with the time at which it is to go. What a path does to a packet
//! does not depend on when it is looked at ([`unbloat_link::Element`]), so nothing changes but the price.
//!
//! A path that does not end in a delay is woken for when something is due, like any.

use crate::clock::{Clock, Monotonic};
use crate::emulator::{Emulated, Setup, routes};
use crate::error::EmulatorError;
use crate::plane::Plane;
use crate::port::{Device, Side};
use crate::report::Report;
use crate::ring::Ring;
use crate::routes::Routes;
use crate::timing::Privileges;
use ipnet::IpNet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use tracing::debug;
use unbloat_experiment::scenario::Hop;
use unbloat_link::{Config, Element};
use unbloat_units::{Both, Delta, Time};

/// Below this, waking for each packet is no dearer.
const SHORTEST: Delta = Delta::us(100);
/// How often the thread looks whether it is to stop.
const LONGEST_WAIT: Delta = Delta::ms(100);
/// Rings hold the full packets of so long a time at 900 Mbit/s.
const LONGEST_SLEEP: Delta = Delta::ms(50);

/// One end of an Ethernet pair, at whose other end is a host. It must have the queue discipline `fq`, whose timers are not to
/// be slack; the host's end must give out finished packets: no segmentation or checksums are left to do.
pub struct Wire {
    ring: Ring,
    side: Side,
    addresses: Vec<IpNet>,
}

impl Wire {
    /// Of a device of the calling thread's namespace. `peer`: the address of the host's end. Packets for `addresses` leave
    /// through this wire.
    pub fn open(
        device: &str,
        peer: [u8; 6],
        side: Side,
        addresses: Vec<IpNet>,
    ) -> io::Result<Wire> {
        Ok(Wire {
            ring: Ring::open(device, peer)?,
            side,
            addresses,
        })
    }
}

/// Carries packets between wires, over a path, in a kernel whose time is virtual.
pub struct Ahead {
    setup: Setup,
    rings: Vec<Ring>,
    sides: Vec<Side>,
    routes: Both<Routes>,
    /// The delays at the ends of the paths, which are the kernel's matter.
    ends: Both<Delta>,
}

impl Ahead {
    /// The ports and the timing of `setup` are not used.
    pub fn new(mut setup: Setup, wires: Vec<Wire>) -> Result<Ahead, EmulatorError> {
        let sides: Vec<_> = wires.iter().map(|wire| wire.side).collect();
        let addresses = wires.iter().map(|wire| wire.addresses.clone());
        let routes = routes(sides.iter().copied().zip(addresses))?;
        let mut rings: Vec<_> = wires.into_iter().map(|wire| wire.ring).collect();
        for ring in &mut rings {
            ring.set_zero(setup.clock.zero_ns());
        }
        let ends = Both::new(take_delay(&mut setup.down), take_delay(&mut setup.up));
        Ok(Ahead {
            setup,
            rings,
            sides,
            routes,
            ends,
        })
    }

    /// Carries packets on the calling thread until `stop`.
    pub fn run(self, stop: &AtomicBool) -> Result<Emulated, EmulatorError> {
        // SAFETY: the call takes numbers and concerns this thread. Timers of poll are exact from then on.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
        debug!(
            wires = self.rings.len(),
            "carrying packets ahead of virtual time"
        );
        let mut carrier = self.carrier();
        let begin = carrier.clock.now();
        let mut now = begin;
        while !stop.load(Ordering::Relaxed) {
            let is_busy = carrier.carry(now);
            carrier.plane.check()?;
            carrier.plane.books.counts.waits += 1;
            now = match is_busy && carrier.lead >= SHORTEST {
                true => carrier.sleep(now + carrier.lead),
                false => carrier.poll(now)?,
            };
        }
        Ok(carrier.end(begin))
    }

    fn carrier(self) -> Carrier {
        let (clock, sampled) = (self.setup.clock, self.setup.sample_every.is_some());
        let mut plane = self.setup.plane(self.rings, self.sides, self.routes);
        let Both { down, up } = &plane.paths;
        let base_rtt = down.latency() + up.latency() + self.ends.down + self.ends.up;
        for (flight, end) in plane.flights.iter_mut().zip(self.ends) {
            flight.set_delay(end, sampled);
        }
        // A link that asks for its packets must be seen when it does.
        let lead = match plane.is_gated() {
            true => Delta::ZERO,
            false => self.ends.down.min(self.ends.up).min(LONGEST_SLEEP),
        };
        Carrier {
            plane,
            clock,
            base_rtt,
            lead,
        }
    }
}

/// The emulator at work, on its thread.
struct Carrier {
    plane: Plane<Ring>,
    clock: Monotonic,
    base_rtt: Delta,
    /// How long the thread may sleep: the shorter of the delays at the paths' ends.
    lead: Delta,
}

impl Carrier {
    fn end(mut self, begin: Time) -> Emulated {
        let end = self.clock.now();
        self.carry(end);
        let report = Report {
            counts: self.plane.books.counts,
            lateness_us: std::mem::take(&mut self.plane.books.lateness_us),
            wall: end - begin,
            // Computing takes no time where time is virtual.
            cpu: Delta::ZERO,
            starved: None,
            device_drops: self.plane.devices.iter().map(Ring::drops).sum(),
            privileges: Privileges::default(),
            base_rtt: self.base_rtt,
        };
        self.plane.ended(report, end)
    }

    /// Does all that there is to do until `now`; whether anything is on the path.
    fn carry(&mut self, now: Time) -> bool {
        let mut is_busy = false;
        while let Some((at, device)) = self.next_arrival()
            && at <= now
        {
            is_busy = true;
            self.plane.devices[device].let_read();
            self.plane.read(device, &Still(at));
            debug_assert_eq!(self.plane.devices[device].came(), at);
        }
        self.plane.catch_up(now);
        self.plane.flush(&Still(now));
        for device in &self.plane.devices {
            self.plane.books.counts.refused += device.send() as u64;
        }
        is_busy || self.plane.next_at().is_some()
    }

    fn next_arrival(&self) -> Option<(Time, usize)> {
        let devices = self.plane.devices.iter().zip(0..);
        devices
            .filter_map(|(device, number)| Some((device.next_came()?, number)))
            .min()
    }

    /// Sleeps until `until`, whatever comes; returns it.
    fn sleep(&self, until: Time) -> Time {
        let at = until.as_ns() + self.clock.zero_ns();
        let at = timespec(at);
        let (clock, flags) = (libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME);
        // SAFETY: `at` lives for the call.
        unsafe { libc::clock_nanosleep(clock, flags, &raw const at, std::ptr::null_mut()) };
        until
    }

    /// Waits for a packet, or until something must be sent; the time of then.
    fn poll(&self, now: Time) -> Result<Time, EmulatorError> {
        let due = self.plane.next_at().map(|at| at + self.lead);
        let latest = now + LONGEST_WAIT;
        let until = due.map_or(latest, |at| at.min(latest));
        let left = timespec((until - self.clock.now()).as_ns().max(0));
        let devices = self.plane.devices.iter();
        let mut waited: Vec<_> = devices
            .map(|device| libc::pollfd {
                fd: device.raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            })
            .collect();
        // SAFETY: the descriptors are open, and everything lives for the call.
        let result = unsafe {
            let count = waited.len() as libc::nfds_t;
            libc::ppoll(
                waited.as_mut_ptr(),
                count,
                &raw const left,
                std::ptr::null(),
            )
        };
        let error = io::Error::last_os_error();
        if result < 0 && error.kind() != io::ErrorKind::Interrupted {
            return Err(EmulatorError::Wait(error));
        }
        Ok(self.clock.now())
    }
}

/// Takes the delays from the end of a path's last hop: how long they are together.
/// Of the hop at the end of a path, if all packets pass it.
fn take_delay(hops: &mut [Hop]) -> Delta {
    let mut sum = Delta::ZERO;
    let Some(hop) = hops.last_mut().filter(|hop| hop.clients.are_all()) else {
        return sum;
    };
    while let Some(Config::Delay(params)) = hop.elements.last() {
        sum += params.delay.max(Delta::ZERO);
        hop.elements.pop();
    }
    sum
}

fn timespec(ns: i64) -> libc::timespec {
    libc::timespec {
        tv_sec: ns / 1_000_000_000,
        tv_nsec: ns % 1_000_000_000,
    }
}

/// A clock that stands.
struct Still(Time);

impl Clock for Still {
    fn now(&self) -> Time {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_experiment::scenario::Passers;
    use unbloat_link::element::{delay, loss};
    use unbloat_qdisc::Host;

    #[test]
    fn only_delays_at_the_end_are_taken() {
        let wait = |ms| {
            Config::Delay(delay::Params {
                delay: Delta::ms(ms),
            })
        };
        let lossy = Config::Loss(loss::Params { loss: 0.1 });
        let mut path = [Hop::from(vec![wait(1), lossy.clone(), wait(20), wait(3)])];
        assert_eq!(take_delay(&mut path), Delta::ms(23));
        assert_eq!(path, [Hop::from(vec![wait(1), lossy])]);
        assert_eq!(take_delay(&mut path), Delta::ZERO);
        // Packets of other clients do not have it.
        path[0].elements.push(wait(5));
        path[0].clients = Passers::Only([Host(1)].into());
        assert_eq!(take_delay(&mut path), Delta::ZERO);
    }
}
