//! How many of something there may be: in all, for each address, and for the addresses that one customer may have.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use unbloat_os::lock::lock;

/// Whom a limit counts: an IPv4 address, or the network of an IPv6 address, of which every host has 2^64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

/// Addresses that are often one customer's: a /24 of IPv4, a /48 of IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Network {
    V4([u8; 3]),
    V6([u8; 6]),
}

impl Origin {
    pub fn network(self) -> Network {
        match self {
            Origin::V4([a, b, c, _]) => Network::V4([a, b, c]),
            Origin::V6([a, b, c, d, e, f, ..]) => Network::V6([a, b, c, d, e, f]),
        }
    }
}

/// A network may have so much of the whole, or what one address may have if that is more.
const SHARE: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// The server has as many as it takes.
    All,
    /// This address's network has.
    Network,
    /// This address has.
    Address,
}

pub struct Admission {
    most: usize,
    most_each: usize,
    most_network: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    all: usize,
    each: HashMap<Origin, usize>,
    networks: HashMap<Network, usize>,
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
            most_network: most_each.max(most / SHARE),
            taken: Mutex::default(),
        })
    }

    pub fn admit(self: &Arc<Self>, address: IpAddr) -> Result<Ticket, Full> {
        let origin = Origin::of(address);
        let mut taken = lock(&self.taken);
        if taken.all >= self.most {
            return Err(Full::All);
        }
        let of = |count: Option<&usize>| count.copied().unwrap_or(0);
        if of(taken.each.get(&origin)) >= self.most_each {
            return Err(Full::Address);
        }
        if of(taken.networks.get(&origin.network())) >= self.most_network {
            return Err(Full::Network);
        }
        *taken.each.entry(origin).or_default() += 1;
        *taken.networks.entry(origin.network()).or_default() += 1;
        taken.all += 1;
        Ok(Ticket {
            admission: Arc::clone(self),
            origin,
        })
    }

    pub fn taken(&self) -> usize {
        lock(&self.taken).all
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut taken = lock(&self.admission.taken);
        taken.all -= 1;
        less(&mut taken.each, self.origin);
        less(&mut taken.networks, self.origin.network());
    }
}

/// One less, and nothing is kept of who has none.
fn less<K: Eq + Hash>(counts: &mut HashMap<K, usize>, of: K) {
    if let Entry::Occupied(mut count) = counts.entry(of) {
        *count.get_mut() -= 1;
        if *count.get() == 0 {
            count.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(last: u8) -> IpAddr {
        // Of different networks.
        [192, 0, last, 1].into()
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
        assert!(admission.taken.lock().unwrap().networks.is_empty());
    }

    #[test]
    fn a_network_gets_an_eighth() {
        let admission = Admission::new(80, 4);
        for [own, other] in [["192.0.2.", "192.0.3.1"], ["2001:db8:0:", "2001:db8:1::1"]] {
            let own = |last: u8| match own.ends_with('.') {
                true => format!("{own}{last}").parse().unwrap(),
                false => format!("{own}{last:x}::1").parse().unwrap(),
            };
            let held: Vec<_> = (0..10)
                .map(|last| admission.admit(own(last)).ok())
                .collect();
            assert!(held.iter().all(Option::is_some));
            assert_eq!(admission.admit(own(99)).err(), Some(Full::Network));
            assert!(admission.admit(other.parse().unwrap()).is_ok());
        }
    }

    #[test]
    fn hosts_of_one_v6_network_are_one_and_mapped_v4_is_v4() {
        let origin = |text: &str| Origin::of(text.parse().unwrap());
        assert_eq!(origin("2001:db8::1"), origin("2001:db8::ffff:1"));
        assert_ne!(origin("2001:db8::1"), origin("2001:db8:0:1::1"));
        assert_eq!(origin("::ffff:192.0.2.1"), Origin::of(v4(2)));
    }
}
