//! The users of a shard.

use crate::expiry::Expiry;
use crate::index::{Index, prefetch};
use crate::params::Params;
use crate::slab::Slab;
use crate::tables::SideTables;
use crate::user::User;
use hashbrown::DefaultHashBuilder;
use std::hash::BuildHasher;
use std::sync::Arc;
use unbloat_units::{Delta, Time};
use unbloat_wire::{Address, PacketHeader};

#[derive(Debug)]
struct Entry {
    user: User,
    scheduled: i64,
}

/// What it takes to write of a user when packet `number` passes.
struct Moment<'a> {
    number: u64,
    origin: Time,
    params: &'a Params,
}

impl Moment<'_> {
    /// Counts a packet after a silence that is the end of the user or of its radio's activity.
    #[cold]
    fn after_silence(&self, user: &mut User, header: &PacketHeader, tables: &mut SideTables) {
        self.renew(user, header.time, tables);
        let silence = header.time.since(user.last);
        user.count(header, silence);
        if silence > self.params.radio_active {
            user.on_silence(silence, self.params);
        }
    }

    /// After an hour's gap the address is another user.
    fn renew(&self, user: &mut User, now: Time, tables: &mut SideTables) {
        if now.since(user.last) <= self.params.user_idle {
            return;
        }
        user.write(self.number, self.origin, self.params, tables);
        let live_flows = user.live_flows;
        *user = User::new(self.number, user.address, now, self.origin, self.params);
        user.live_flows = live_flows;
    }
}

const PREFETCHED_LINES: usize = size_of::<Entry>().div_ceil(64);

/// Client addresses and their sessions.
#[derive(Debug)]
pub(crate) struct Users {
    by_address: Index,
    hasher: DefaultHashBuilder,
    slab: Slab<Entry>,
    expiry: Expiry,
    origin: Time,
    params: Arc<Params>,
    evicted: u64,
    /// Silences up to this one need nothing but counting.
    unnoticed: Delta,
}

impl Users {
    pub(crate) fn new(origin: Time, params: Arc<Params>) -> Users {
        Users {
            by_address: Index::new(),
            hasher: DefaultHashBuilder::default(),
            slab: Slab::new(),
            expiry: Expiry::new(origin),
            origin,
            unnoticed: params.radio_active.min(params.user_idle),
            params,
            evicted: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.slab.len()
    }

    pub(crate) fn evicted(&self) -> u64 {
        self.evicted
    }

    pub(crate) fn id(&self, slot: u32) -> u64 {
        self.slab
            .get(slot)
            .expect("users outlive their flows")
            .user
            .user_id
    }

    pub(crate) fn get(&self, slot: u32) -> &User {
        &self.slab.get(slot).expect("users outlive their flows").user
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, slot: u32) -> &mut User {
        &mut self
            .slab
            .get_mut(slot)
            .expect("users outlive their flows")
            .user
    }

    /// Asks for the lines of a user that every packet touches.
    #[inline]
    pub(crate) fn prefetch(&self, slot: u32) {
        if let Some(place) = self.slab.place(slot) {
            for line in 0..PREFETCHED_LINES {
                prefetch(place.wrapping_add(line * 64));
            }
        }
    }

    /// A new flow of this client: its user, known or new.
    pub(crate) fn join(
        &mut self,
        address: Address,
        now: Time,
        number: u64,
        tables: &mut SideTables,
    ) -> u32 {
        let hash = self.hasher.hash_one(address.0);
        let is_it = |slot| {
            self.slab
                .get(slot)
                .is_some_and(|e| e.user.address == address)
        };
        let slot = match self.by_address.find(hash, is_it) {
            Some(slot) => slot,
            None => {
                self.make_room(number, tables);
                let user = User::new(number, address, now, self.origin, &self.params);
                let slot = self.slab.insert(Entry { user, scheduled: 0 });
                self.schedule(slot, now + self.params.user_idle);
                self.by_address.insert(hash, slot);
                slot
            }
        };
        let moment = Moment {
            number,
            origin: self.origin,
            params: &self.params,
        };
        let user = &mut self
            .slab
            .get_mut(slot)
            .expect("users outlive their flows")
            .user;
        moment.renew(user, now, tables);
        user.live_flows += 1;
        user.flows += 1;
        slot
    }

    pub(crate) fn leave(&mut self, slot: u32) {
        self.get_mut(slot).live_flows -= 1;
    }

    /// Counts a packet of one of the user's flows.
    #[inline]
    pub(crate) fn on_packet(
        &mut self,
        slot: u32,
        header: &PacketHeader,
        number: u64,
        tables: &mut SideTables,
    ) -> &mut User {
        let user = &mut self
            .slab
            .get_mut(slot)
            .expect("users outlive their flows")
            .user;
        let silence = header.time.since_bounded(user.last);
        if silence > self.unnoticed {
            let moment = Moment {
                number,
                origin: self.origin,
                params: &self.params,
            };
            moment.after_silence(user, header, tables);
        } else {
            user.count(header, silence);
        }
        user
    }

    fn schedule(&mut self, slot: u32, deadline: Time) {
        let scheduled = self.expiry.schedule(slot, deadline);
        if let Some(entry) = self.slab.get_mut(slot) {
            entry.scheduled = scheduled;
        }
    }

    /// Ids and slots of the users that are gone, each told once and to be ended by the caller.
    pub(crate) fn take_expired(&mut self, now: Time) -> Vec<(u64, u32)> {
        let mut gone = Vec::new();
        while let Some((slot, second)) = self.expiry.pop_due(now) {
            let Some(entry) = self.slab.get(slot).filter(|e| e.scheduled == second) else {
                continue;
            };
            let due = entry.user.last + self.params.user_idle;
            if due < now && entry.user.live_flows == 0 {
                gone.push((entry.user.user_id, slot));
            } else {
                // One with live flows stays until they go, whatever the timeouts are.
                self.schedule(slot, due.max(now + Delta::secs(1)));
            }
        }
        gone
    }

    fn make_room(&mut self, number: u64, tables: &mut SideTables) {
        if self.slab.len() < self.params.max_flows {
            return;
        }
        // Users whose flows live are put off; there are fewer of them than there are users.
        let mut put_off = Vec::new();
        while let Some((slot, second)) = self.expiry.pop_next() {
            let Some(entry) = self.slab.get(slot).filter(|e| e.scheduled == second) else {
                continue;
            };
            if entry.user.live_flows == 0 {
                self.evicted += 1;
                self.end(slot, number, tables);
                break;
            }
            put_off.push((slot, entry.user.last + self.params.user_idle));
        }
        for (slot, deadline) in put_off {
            self.schedule(slot, deadline);
        }
    }

    fn remove(&mut self, slot: u32) -> Option<User> {
        let entry = self.slab.remove(slot)?;
        let hash = self.hasher.hash_one(entry.user.address.0);
        self.by_address.remove(hash, slot);
        Some(entry.user)
    }

    /// Slots and ids of all users, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u64)> {
        self.slab
            .slots()
            .filter_map(|slot| Some((slot, self.slab.get(slot)?.user.user_id)))
    }

    /// Writes the rows of a user and forgets it.
    pub(crate) fn end(&mut self, slot: u32, number: u64, tables: &mut SideTables) {
        if let Some(mut user) = self.remove(slot) {
            user.write(number, self.origin, &self.params, tables);
        }
    }
}
