//! Who is connected, by address, so that the longest idle can give way to who comes.

use crate::admission::{Admission, Full, Origin, Ticket};
use crate::peer::{Activity, Peer};
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub struct Guests {
    places: Arc<Admission>,
    /// By number: who came first is first.
    here: Mutex<HashMap<Origin, BTreeMap<u64, Guest>>>,
}

struct Guest {
    peer: Arc<Peer>,
    place: Ticket,
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

    /// A place: a free one, or that of this address's connection that has been idle longest, which is told to go. Others'
    /// connections never give way.
    pub fn admit(&self, address: IpAddr) -> Result<Ticket, Full> {
        self.places
            .admit(address)
            .or_else(|full| self.instead(Origin::of(address)).ok_or(full))
    }

    fn instead(&self, origin: Origin) -> Option<Ticket> {
        let mut here = self.lock();
        let guests = here.get_mut(&origin)?;
        let idle = guests
            .iter()
            .filter_map(|(number, guest)| match guest.peer.activity() {
                Activity::Idle { since } => Some((since, *number)),
                Activity::Busy { .. } => None,
            });
        let (_, longest) = idle.min()?;
        let guest = guests.remove(&longest)?;
        guest.peer.send_away();
        Some(guest.place)
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
    use std::time::{Duration, Instant};

    fn come(guests: &Arc<Guests>, number: u64, last: u8) -> Result<(Arc<Peer>, Stay), Full> {
        let address: IpAddr = [192, 0, 2, last].into();
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
    fn nothing_is_kept_of_who_is_gone() {
        let guests = Guests::new(1, 1);
        let (_, stay) = come(&guests, 1, 1).ok().unwrap();
        assert_eq!(come(&guests, 2, 2).err(), Some(Full::All));
        drop(stay);
        assert_eq!(guests.count(), 0);
        assert!(guests.lock().is_empty());
    }
}
