//! Who is connected, by address, so that who has most can give way to who comes.

use crate::admission::{Admission, Full, Origin, Ticket};
use crate::peer::{Activity, Peer};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

pub struct Guests {
    places: Arc<Admission>,
    /// By number: who came first is first.
    here: Mutex<HashMap<Origin, OfOne>>,
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
        Arc::new(Guests {
            places: Admission::new(most, most_each),
            here: Mutex::default(),
        })
    }

    /// A place: a free one, or that of a connection that is told to go. Of an address that has all it may have it is one of its own, the
    /// longest idle; where its network or everybody has all, the address gives way that has most, if it has more than who comes.
    pub fn admit(&self, address: IpAddr) -> Result<Ticket, Full> {
        let origin = Origin::of(address);
        self.places.admit(address).or_else(|full| {
            let place = match full {
                Full::Address => self.idle_of(origin),
                Full::Network => self.heaviest(origin, |other| other.network() == origin.network()),
                Full::All => self.heaviest(origin, |_| true),
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
        self.lock().entry(origin).or_default().insert(number, guest);
        Stay {
            guests: Arc::clone(self),
            origin,
            number,
        }
    }

    pub fn count(&self) -> usize {
        self.places.taken()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Origin, BTreeMap<u64, Guest>>> {
        self.here.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        let mut here = self.guests.lock();
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
    use std::time::Duration;

    fn come(guests: &Arc<Guests>, number: u64, last: u8) -> Result<(Arc<Peer>, Stay), Full> {
        // Of different networks.
        let address: IpAddr = [192, 0, last, 1].into();
        let place = guests.admit(address)?;
        let peer = Arc::new(Peer::new(number, (address, 1).into(), true, None));
        let stay = guests.stay(&peer, place);
        Ok((peer, stay))
    }

    #[test]
    fn the_longest_idle_of_an_address_gives_way_and_who_is_busy_does_not() {
        let guests = Guests::new(10, 2);
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
        let guests = Guests::new(4, 3);
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
        let guests = Guests::new(40, 20);
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
        let guests = Guests::new(1, 1);
        let (_, stay) = come(&guests, 1, 1).ok().unwrap();
        assert_eq!(come(&guests, 2, 2).err(), Some(Full::All));
        drop(stay);
        assert_eq!(guests.count(), 0);
        assert!(guests.lock().is_empty());
    }
}
