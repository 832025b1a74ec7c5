//! Who is connected, by address, so that who has most can give way to who comes.

use crate::admission::{Admission, Full, Origin, Ticket};
use crate::peer::{Activity, Peer};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tracing::debug;
use unbloat_os::lock::lock;

/// Who has never asked for anything in so long gives way to anybody: handshakes are over by then on all but the worst of paths.
const SILENCE: Duration = Duration::from_secs(1);

pub struct Guests {
    places: Arc<Admission>,
    /// How long one may be silent.
    silence: Duration,
    /// By number: who came first is first.
    here: Mutex<HashMap<Origin, OfOne>>,
    /// Those that may still be silent, by number. Locked within `here`, or alone.
    unheard: Mutex<BTreeMap<u64, Origin>>,
}

struct Guest {
    peer: Arc<Peer>,
    place: Ticket,
}

/// Who is sent away first is least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// It never asked for anything.
    Silent(Instant),
    Idle(Instant),
    /// The newest first: others are nearer to their end.
    Busy(Reverse<u64>),
}

impl Guest {
    fn is_idle(&self) -> bool {
        !matches!(self.rank(), Rank::Busy(_))
    }

    fn rank(&self) -> Rank {
        match self.peer.activity() {
            Activity::Idle { since } if self.peer.is_silent() => Rank::Silent(since),
            Activity::Idle { since } => Rank::Idle(since),
            Activity::Busy { .. } => Rank::Busy(Reverse(self.peer.number)),
        }
    }

    /// For when memory is short: who carries something holds most.
    fn load(&self) -> Reverse<Rank> {
        Reverse(self.rank())
    }
}

/// The connections of one address, by number.
type OfOne = BTreeMap<u64, Guest>;

fn send_away(guests: &mut OfOne, number: u64) -> Option<Ticket> {
    let guest = guests.remove(&number)?;
    debug!(connection = number, client = %guest.peer.from, "connection gives way to another");
    guest.peer.send_away();
    Some(guest.place)
}

trait Heaviest {
    fn heaviest_of(&mut self, is_meant: impl Fn(Origin) -> bool) -> Option<&mut OfOne>;
}

impl Heaviest for HashMap<Origin, OfOne> {
    /// The largest of those that are meant.
    fn heaviest_of(&mut self, is_meant: impl Fn(Origin) -> bool) -> Option<&mut OfOne> {
        let meant = self.iter_mut().filter(|(origin, _)| is_meant(**origin));
        let largest = meant.max_by_key(|(origin, guests)| (guests.len(), **origin))?;
        Some(largest.1)
    }
}

/// A connection's stay, until dropped.
pub struct Stay {
    guests: Arc<Guests>,
    origin: Origin,
    number: u64,
}

/// What a connection holds while it lasts.
pub enum Place {
    House {
        _stay: Stay,
    },
    /// Of those that are only told that they are refused.
    Lobby {
        _place: Ticket,
    },
}

impl Guests {
    pub fn new(most: usize, most_each: usize) -> Arc<Guests> {
        Guests::with_silence(most, most_each, SILENCE)
    }

    fn with_silence(most: usize, most_each: usize, silence: Duration) -> Arc<Guests> {
        Arc::new(Guests {
            places: Admission::new(most, most_each),
            silence,
            here: Mutex::default(),
            unheard: Mutex::default(),
        })
    }

    /// A place: a free one, or that of a connection that is told to go. Of an address that has all it may have it is one of its own, the
    /// longest idle; where its network or everybody has all, it is the longest silent, of whatever address, and where all have spoken
    /// the address gives way that has most, if it has more than who comes.
    pub fn admit(&self, address: IpAddr) -> Result<Ticket, Full> {
        let origin = Origin::of(address);
        self.places.admit(address).or_else(|full| {
            let place = match full {
                Full::Address => self.idle_of(origin),
                Full::Network => self.of_others(origin, |o| o.network() == origin.network()),
                Full::All => self.of_others(origin, |_| true),
            };
            let place = place.or_else(|| self.idle_of(origin));
            // The place is given up before it is asked for: it is counted for another address.
            drop(place.ok_or(full)?);
            self.places.admit(address)
        })
    }

    fn idle_of(&self, origin: Origin) -> Option<Ticket> {
        let mut here = self.lock();
        let guests = here.get_mut(&origin)?;
        let idle = guests.iter().filter(|(_, guest)| guest.is_idle());
        let (_, number) = idle.map(|(number, guest)| (guest.rank(), *number)).min()?;
        send_away(guests, number)
    }

    fn of_others(&self, origin: Origin, is_meant: impl Fn(Origin) -> bool) -> Option<Ticket> {
        let silent = self.longest_silent(&is_meant);
        silent.or_else(|| self.heaviest(origin, is_meant))
    }

    /// The place of the first of those that came and never asked for anything, if it had the time to.
    fn longest_silent(&self, is_meant: impl Fn(Origin) -> bool) -> Option<Ticket> {
        let mut here = self.lock();
        let mut unheard = lock(&self.unheard);
        let (mut found, mut heard) = (None, Vec::new());
        for (&number, &origin) in unheard.iter() {
            let guest = here.get(&origin).and_then(|guests| guests.get(&number));
            match guest.map(Guest::rank) {
                // Later ones are younger.
                Some(Rank::Silent(since)) if since.elapsed() < self.silence => break,
                Some(Rank::Silent(_)) if is_meant(origin) => {
                    found = Some((origin, number));
                    break;
                }
                Some(Rank::Silent(_)) => {}
                Some(Rank::Idle(_) | Rank::Busy(_)) | None => heard.push(number),
            }
        }
        for number in heard {
            unheard.remove(&number);
        }
        let (origin, number) = found?;
        unheard.remove(&number);
        send_away(here.get_mut(&origin)?, number)
    }

    /// One place of the address that has most of those, which must be two more than `origin` has: else both would take turns.
    fn heaviest(&self, origin: Origin, is_meant: impl Fn(Origin) -> bool) -> Option<Ticket> {
        let mut here = self.lock();
        let own = here.get(&origin).map_or(0, BTreeMap::len);
        let most = here.heaviest_of(is_meant)?;
        if most.len() < own + 2 {
            return None;
        }
        let (_, number) = most.iter().map(|(n, guest)| (guest.rank(), *n)).min()?;
        send_away(most, number)
    }

    /// An eighth of what the address has that has most, one at least: for when memory is short.
    pub fn shed(&self) {
        let mut here = self.lock();
        let Some(most) = here.heaviest_of(|_| true) else {
            return;
        };
        let mut ranked: Vec<_> = most.iter().map(|(n, guest)| (guest.load(), *n)).collect();
        ranked.sort_unstable();
        for (_, number) in ranked.into_iter().take(most.len().div_ceil(8)) {
            send_away(most, number);
        }
    }

    /// What the place that `peer` got is from now on.
    pub fn place(self: &Arc<Self>, peer: &Arc<Peer>, place: Ticket) -> Place {
        match peer.refused {
            None => Place::House {
                _stay: self.stay(peer, place),
            },
            Some(_) => Place::Lobby { _place: place },
        }
    }

    fn stay(self: &Arc<Self>, peer: &Arc<Peer>, place: Ticket) -> Stay {
        let (origin, number) = (Origin::of(peer.from.ip()), peer.number);
        let guest = Guest {
            peer: Arc::clone(peer),
            place,
        };
        let mut here = self.lock();
        here.entry(origin).or_default().insert(number, guest);
        lock(&self.unheard).insert(number, origin);
        drop(here);
        Stay {
            guests: Arc::clone(self),
            origin,
            number,
        }
    }

    pub fn count(&self) -> usize {
        self.places.taken()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Origin, OfOne>> {
        lock(&self.here)
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        let mut here = self.guests.lock();
        lock(&self.guests.unheard).remove(&self.number);
        if let Some(guests) = here.get_mut(&self.origin) {
            guests.remove(&self.number);
            if guests.is_empty() {
                here.remove(&self.origin);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    fn come(guests: &Arc<Guests>, number: u64, last: u8) -> Result<(Arc<Peer>, Stay), Full> {
        // Of different networks.
        let address: IpAddr = [192, 0, last, 1].into();
        let place = guests.admit(address)?;
        let peer = Arc::new(Peer::new(number, (address, 1).into(), true, None));
        let stay = guests.stay(&peer, place);
        Ok((peer, stay))
    }

    /// Where nobody is silent for too long.
    fn patient(most: usize, most_each: usize) -> Arc<Guests> {
        Guests::with_silence(most, most_each, Duration::MAX)
    }

    #[test]
    fn one_silent_connection_each_of_many_addresses_keeps_nobody_out() {
        let guests = Guests::with_silence(4, 3, Duration::ZERO);
        let until = Instant::now() + Duration::from_secs(60);
        let (busy, _load) = come(&guests, 1, 1).ok().unwrap();
        let load = busy.begin(until);
        let (spoke, _idle) = come(&guests, 2, 2).ok().unwrap();
        drop(spoke.begin(until));
        let (first, _a) = come(&guests, 3, 3).ok().unwrap();
        let (second, _b) = come(&guests, 4, 4).ok().unwrap();
        let gone = || [&busy, &spoke, &first, &second].map(|peer| peer.is_sent_away());
        // Who has one already as well.
        let (probe, _c) = come(&guests, 5, 1).ok().unwrap();
        let _probing = probe.begin(until);
        assert_eq!(gone(), [false, false, true, false]);
        let (new, _d) = come(&guests, 6, 5).ok().unwrap();
        assert_eq!(gone(), [false, false, true, true]);
        assert_eq!(guests.count(), 4);
        drop((load, new.begin(until)));
        let _again = come(&guests, 7, 1).ok().unwrap();
        assert!(busy.is_sent_away(), "its own, which is idle");
        assert_eq!(guests.count(), 4);
    }

    #[test]
    fn where_a_network_has_its_share_the_silent_of_others_are_left_alone() {
        // An eighth is three.
        let guests = Guests::with_silence(24, 3, Duration::ZERO);
        let come = |number, address: [u8; 4]| {
            let address: IpAddr = address.into();
            let place = guests.admit(address).ok()?;
            let peer = Arc::new(Peer::new(number, (address, 1).into(), true, None));
            let stay = guests.stay(&peer, place);
            Some((peer, stay))
        };
        let (other, _other) = come(1, [192, 0, 3, 1]).unwrap();
        let own: Vec<_> = (0..3)
            .map(|n| come(u64::from(n) + 2, [192, 0, 2, n]).unwrap())
            .collect();
        let _new = come(9, [192, 0, 2, 9]).unwrap();
        assert!(own[0].0.is_sent_away() && !other.is_sent_away());
    }

    #[test]
    fn the_longest_idle_of_an_address_gives_way_and_who_is_busy_does_not() {
        let guests = patient(10, 2);
        let until = Instant::now() + Duration::from_secs(60);
        let (busy, _first) = come(&guests, 1, 1).ok().unwrap();
        let load = busy.begin(until);
        let (idle, second) = come(&guests, 2, 1).ok().unwrap();
        let (other, _other) = come(&guests, 3, 2).ok().unwrap();
        let (third, _third) = come(&guests, 4, 1).ok().unwrap();
        let told = [&busy, &idle, &other, &third].map(|peer| peer.is_sent_away());
        assert_eq!(told, [false, true, false, false]);
        assert_eq!(guests.count(), 3);
        drop(second);
        assert_eq!(guests.count(), 3, "its place is another's already");
        let probe = third.begin(until);
        assert_eq!(come(&guests, 5, 1).err(), Some(Full::Address));
        drop((load, probe));
        assert!(come(&guests, 6, 1).is_ok());
        assert!(busy.is_sent_away(), "it ended its load before the other");
    }

    #[test]
    fn who_has_most_gives_way_the_silent_first_and_who_is_busy_last() {
        let guests = patient(4, 3);
        let until = Instant::now() + Duration::from_secs(60);
        let (busy, _a) = come(&guests, 1, 1).ok().unwrap();
        let _load = busy.begin(until);
        let (spoke, _b) = come(&guests, 2, 1).ok().unwrap();
        drop(spoke.begin(until));
        let (silent, _c) = come(&guests, 3, 1).ok().unwrap();
        let (small, _d) = come(&guests, 4, 2).ok().unwrap();
        let gone = || [&silent, &spoke, &busy].map(|peer| peer.is_sent_away());
        let (_fifth, _e) = come(&guests, 5, 3).ok().unwrap();
        assert_eq!(gone(), [true, false, false]);
        // Two of the first and one of each other: nobody has so much more that its own does not go first.
        let (_again, _g) = come(&guests, 6, 2).ok().unwrap();
        assert!(small.is_sent_away() && gone() == [true, false, false]);
        let (_sixth, _f) = come(&guests, 7, 4).ok().unwrap();
        assert_eq!(gone(), [true, true, false]);
        assert_eq!(come(&guests, 8, 5).err(), Some(Full::All));
        assert_eq!(guests.count(), 4);
    }

    #[test]
    fn where_memory_is_short_who_has_most_loses_the_busy_ones_first() {
        let guests = patient(40, 20);
        let until = Instant::now() + Duration::from_secs(60);
        let many: Vec<_> = (0..16).map(|n| come(&guests, n, 1).ok().unwrap()).collect();
        let (other, _stay) = come(&guests, 99, 2).ok().unwrap();
        let _load = [3, 5].map(|n: usize| many[n].0.begin(until));
        guests.shed();
        let gone: Vec<_> = (0..16).filter(|n| many[*n].0.is_sent_away()).collect();
        assert_eq!((gone, other.is_sent_away()), (vec![3, 5], false));
        (0..20).for_each(|_| guests.shed());
        assert!(other.is_sent_away(), "to the last one");
    }

    #[test]
    fn nothing_is_kept_of_who_is_gone() {
        let guests = patient(1, 1);
        let (_, stay) = come(&guests, 1, 1).ok().unwrap();
        assert_eq!(come(&guests, 2, 2).err(), Some(Full::All));
        drop(stay);
        assert_eq!(guests.count(), 0);
        assert!(guests.lock().is_empty() && lock(&guests.unheard).is_empty());
    }
}
