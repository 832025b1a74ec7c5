//! When the thread wakes: at an absolute time or as soon as a device has a packet, whichever comes first.
//!
//! Under load the class of the thread matters more than any code: with the normal class timers are 3 to 5 ms late, with
//! SCHED_FIFO 0.03 ms, and 0.0002 ms for a thread that wakes early and watches the clock (measured, 99th percentiles). But a
//! real-time thread that never sleeps is stopped by the kernel for 50 ms of each second, so both spinning and working are
//! bounded here.

use crate::clock::Clock;
use crate::error::EmulatorError;
use crate::port::Tun;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use unbloat_units::{Delta, Time};

/// How the thread waits for a departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// By timer alone: for a kernel in virtual time, where timers are exact and a thread that spins stops the clock.
    Sleep,
    /// By timer until shortly before it, then watching clock and devices.
    Spin,
}

/// How long before a departure the thread wakes, at least and at most: timers of the real-time class are 55 us late once in a
/// thousand times where the processor is awake, and twice as late where an idle one is first to be given back by a hypervisor.
const LEAST_EARLY: Delta = Delta::us(60);
const MOST_EARLY: Delta = Delta::us(300);
/// By how much one timer's lateness moves what is thought of the next one's.
const STEP: Delta = Delta::us(20);
/// Timers that may be later than that: one in so many.
const LATER_ONE_IN: i64 = 100;
/// Share of the time that may be spun away, and how much of it can be saved up.
const SPIN_SHARE: f64 = 0.1;
const MOST_SPIN: Delta = Delta::ms(5);
/// A thread that has not waited for so long rests, before the kernel makes it rest for much longer.
const LONGEST_WORK: Delta = Delta::ms(9);
const REST: Delta = Delta::us(500);
/// Devices told of in one look.
const EVENTS: usize = 64;
/// So many devices are read without a look.
const FEW: usize = 4;
/// SCHED_FIFO: above everything of the normal class, below the kernel's own threads.
const PRIORITY: libc::c_int = 5;

/// What the system granted to the thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Privileges {
    /// The real-time class SCHED_FIFO.
    pub is_realtime: bool,
    /// Memory that is not paged out.
    pub is_locked: bool,
}

impl Privileges {
    /// Takes for the calling thread what is granted.
    pub(crate) fn take() -> Privileges {
        let parameter = libc::sched_param {
            sched_priority: PRIORITY,
        };
        // SAFETY: the calls concern this thread and this process alone; `parameter` outlives its call. Future memory is not
        // locked, for an ordinary user would soon run out of it.
        unsafe {
            libc::prctl(libc::PR_SET_TIMERSLACK, 1);
            Privileges {
                is_realtime: libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameter)
                    == 0,
                is_locked: libc::mlockall(libc::MCL_CURRENT | libc::MCL_ONFAULT) == 0,
            }
        }
    }
}

/// Waits for times and devices.
pub(crate) struct Alarm {
    epoll: OwnedFd,
    events: [libc::epoll_event; EVENTS],
    ready: usize,
    devices: usize,
    timing: Timing,
    /// When the thread last came back from a wait that was one.
    rested: Time,
    /// Since when spinning is accounted for, and what is left of it.
    earned: Time,
    spin: Delta,
    /// How long before a departure the thread wakes now.
    early: Delta,
}

impl Alarm {
    pub(crate) fn new(devices: &[Tun], timing: Timing) -> Result<Alarm, EmulatorError> {
        let epoll = || -> io::Result<OwnedFd> {
            // SAFETY: a new descriptor, owned by nobody else.
            let epoll = unsafe {
                let raw = libc::epoll_create1(libc::EPOLL_CLOEXEC);
                if raw < 0 {
                    return Err(io::Error::last_os_error());
                }
                OwnedFd::from_raw_fd(raw)
            };
            for (device, number) in devices.iter().zip(0..) {
                let mut event = libc::epoll_event {
                    events: libc::EPOLLIN as u32,
                    u64: number,
                };
                // SAFETY: both descriptors are open, and `event` lives for the call.
                let added = unsafe {
                    let (epoll, device) = (epoll.as_raw_fd(), device.raw_fd());
                    libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, device, &raw mut event)
                };
                if added < 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            Ok(epoll)
        };
        Ok(Alarm {
            epoll: epoll().map_err(EmulatorError::Wait)?,
            events: [libc::epoll_event { events: 0, u64: 0 }; EVENTS],
            ready: 0,
            devices: devices.len(),
            timing,
            rested: Time::MIN,
            earned: Time::MIN,
            spin: Delta::ZERO,
            early: LEAST_EARLY,
        })
    }

    /// Waits until `until`, or until a device has packets.
    pub(crate) fn wait(&mut self, clock: &impl Clock, until: Time) -> Result<(), EmulatorError> {
        let now = clock.now();
        let left = until - now;
        if left <= Delta::ZERO {
            self.look(Delta::ZERO)?;
            return self.rest(clock, now);
        }
        let early = match self.may_spin(now) {
            true => self.early,
            false => Delta::ZERO,
        };
        if left > early {
            self.look(left - early)?;
            self.rested = clock.now();
            if self.ready == 0 {
                self.learn(self.rested - (until - early));
            }
        }
        if self.ready > 0 || early == Delta::ZERO {
            return Ok(());
        }
        self.spin_until(clock, until)
    }

    fn spin_until(&mut self, clock: &impl Clock, until: Time) -> Result<(), EmulatorError> {
        let begin = clock.now();
        let mut now = begin;
        while now < until && self.ready == 0 {
            self.look(Delta::ZERO)?;
            now = clock.now();
        }
        self.spin -= now - begin;
        Ok(())
    }

    /// Follows the 99th percentile of the lateness of timers: up by nearly a step for each one later, down by a hundredth of it
    /// for each other. So a single stall, however long, moves it by one step.
    fn learn(&mut self, late: Delta) {
        let down = STEP / LATER_ONE_IN;
        let learnt = match late > self.early {
            true => self.early + (STEP - down),
            false => self.early - down,
        };
        self.early = learnt.clamp(LEAST_EARLY, MOST_EARLY);
    }

    fn may_spin(&mut self, now: Time) -> bool {
        if self.timing == Timing::Sleep {
            return false;
        }
        let earned = (now - self.earned.max(now - Delta::secs(1))).as_ns() as f64 * SPIN_SHARE;
        self.earned = now;
        self.spin = (self.spin + Delta::ns(earned as i64)).min(MOST_SPIN);
        self.spin > self.early
    }

    /// Lets others run if there was no wait for long.
    fn rest(&mut self, clock: &impl Clock, now: Time) -> Result<(), EmulatorError> {
        if self.timing == Timing::Sleep || now - self.rested < LONGEST_WORK {
            return Ok(());
        }
        if self.rested > Time::MIN {
            sleep(REST);
        }
        self.rested = clock.now();
        Ok(())
    }

    /// Waits whatever devices have, then looks at them. Of few, all are taken to have packets: that is cheaper than to ask.
    pub(crate) fn pause(&mut self, clock: &impl Clock, span: Delta) -> Result<(), EmulatorError> {
        sleep(span);
        self.rested = clock.now();
        if self.devices > FEW {
            return self.look(Delta::ZERO);
        }
        self.ready = self.devices;
        for (event, number) in self.events[..self.devices].iter_mut().zip(0..) {
            event.u64 = number;
        }
        Ok(())
    }

    /// Which devices have packets, waiting at most so long for one.
    fn look(&mut self, wait: Delta) -> Result<(), EmulatorError> {
        let timeout = libc::timespec {
            tv_sec: wait.as_ns() / 1_000_000_000,
            tv_nsec: wait.as_ns() % 1_000_000_000,
        };
        // SAFETY: `events` has room for as many as are asked for, and `timeout` lives for the call.
        let count = unsafe {
            libc::epoll_pwait2(
                self.epoll.as_raw_fd(),
                self.events.as_mut_ptr(),
                EVENTS as libc::c_int,
                &raw const timeout,
                std::ptr::null(),
            )
        };
        // An interrupted wait is a short one.
        self.ready = usize::try_from(count).unwrap_or(0);
        let error = io::Error::last_os_error();
        match count < 0 && error.kind() != io::ErrorKind::Interrupted {
            true => Err(EmulatorError::Wait(error)),
            false => Ok(()),
        }
    }

    /// The devices that had packets when last looked at.
    pub(crate) fn ready(&self) -> impl Iterator<Item = usize> {
        self.events[..self.ready]
            .iter()
            .map(|event| event.u64 as usize)
    }
}

fn sleep(span: Delta) {
    let span = libc::timespec {
        tv_sec: 0,
        tv_nsec: span.as_ns(),
    };
    // SAFETY: `span` lives for the call, which concerns this thread alone. An interrupted sleep is a short one.
    unsafe { libc::nanosleep(&raw const span, std::ptr::null_mut()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_wakes_as_early_as_all_but_one_timer_in_a_hundred_is_late() {
        let mut alarm = Alarm::new(&[], Timing::Spin).unwrap();
        assert_eq!(alarm.early, LEAST_EARLY);
        // Evenly late by up to 200 us, and now and then by a stall of 20 ms.
        let mut rng = fastrand::Rng::with_seed(1);
        let mut sum = 0;
        for number in 0..50_000 {
            alarm.learn(match rng.u32(0..1_000) {
                0 => Delta::ms(20),
                _ => Delta::ns(rng.i64(0..200_000)),
            });
            sum += i64::from(number >= 10_000) * alarm.early.as_ns();
        }
        let mean_us = sum / 40_000 / 1_000;
        assert!((185..=205).contains(&mean_us), "{mean_us} us");
        (0..2_000).for_each(|_| alarm.learn(Delta::us(1)));
        assert_eq!(alarm.early, LEAST_EARLY);
        (0..100).for_each(|_| alarm.learn(Delta::ms(5)));
        assert_eq!(alarm.early, MOST_EARLY);
    }
}
