//! How many of something there may be, in all and for each address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Whom a limit counts: an IPv4 address, or the network of an IPv6 address, of which every host has 2^64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    V4([u8; 4]),
    V6([u8; 8]),
}

impl Origin {
    pub fn of(address: IpAddr) -> Origin {
        match address.to_canonical() {
            IpAddr::V4(v4) => Origin::V4(v4.octets()),
            IpAddr::V6(v6) => {
                let octets = v6.octets();
                Origin::V6(octets[..8].try_into().expect("eight of sixteen"))
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// The server has as many as it takes.
    All,
    /// This address has.
    Address,
}

pub struct Admission {
    most: usize,
    most_each: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    all: usize,
    each: HashMap<Origin, usize>,
}

/// A place that is taken until this is dropped.
pub struct Ticket {
    admission: Arc<Admission>,
    origin: Origin,
}

impl Admission {
    pub fn new(most: usize, most_each: usize) -> Arc<Admission> {
        Arc::new(Admission {
            most,
            most_each,
            taken: Mutex::default(),
        })
    }

    pub fn admit(self: &Arc<Self>, address: IpAddr) -> Result<Ticket, Full> {
        let origin = Origin::of(address);
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.all >= self.most {
            return Err(Full::All);
        }
        let each = taken.each.entry(origin).or_default();
        if *each >= self.most_each {
            return Err(Full::Address);
        }
        *each += 1;
        taken.all += 1;
        Ok(Ticket {
            admission: Arc::clone(self),
            origin,
        })
    }

    pub fn taken(&self) -> usize {
        let taken = self.taken.lock();
        taken.unwrap_or_else(PoisonError::into_inner).all
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let taken = self.admission.taken.lock();
        let mut taken = taken.unwrap_or_else(PoisonError::into_inner);
        taken.all -= 1;
        if let Some(each) = taken.each.get_mut(&self.origin) {
            *each -= 1;
            if *each == 0 {
                taken.each.remove(&self.origin);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    #[test]
    fn an_address_gets_its_share_and_all_together_theirs() {
        let admission = Admission::new(3, 2);
        let held: Vec<_> = (0..2)
            .map(|_| admission.admit(v4(1)).ok().unwrap())
            .collect();
        assert_eq!(admission.admit(v4(1)).err(), Some(Full::Address));
        let other = admission.admit(v4(2)).ok().unwrap();
        assert_eq!(admission.admit(v4(3)).err(), Some(Full::All));
        drop(held);
        assert_eq!(admission.taken(), 1);
        assert!(admission.admit(v4(1)).is_ok());
        drop(other);
        assert_eq!(admission.taken(), 0);
        assert!(admission.taken.lock().unwrap().each.is_empty());
    }

    #[test]
    fn hosts_of_one_v6_network_are_one_and_mapped_v4_is_v4() {
        let origin = |text: &str| Origin::of(text.parse().unwrap());
        assert_eq!(origin("2001:db8::1"), origin("2001:db8::ffff:1"));
        assert_ne!(origin("2001:db8::1"), origin("2001:db8:0:1::1"));
        assert_eq!(origin("::ffff:192.0.2.1"), Origin::of(v4(1)));
    }
}
