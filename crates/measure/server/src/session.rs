//! Sessions: what a client's transfers have in common.

use crate::admission::{Admission, Full, Ticket};
use crate::options::{Limits, duration};
use crate::peer::{Peer, QuicAccount, TcpAccount};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tracing::{debug, info};
use unbloat_os::clock::monotonic;
use unbloat_os::lock::lock;
use unbloat_units::Direction;

/// How long a transfer that has ended stays in the account.
const KEPT: Duration = Duration::from_secs(10);

/// Drawn at random: who knows it may use the session.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Id([u8; 16]);

impl Id {
    fn draw() -> Id {
        let mut id = [0; 16];
        getrandom::fill(&mut id).expect("Linux has random numbers");
        Id(id)
    }

    pub fn parse(text: &str) -> Option<Id> {
        let hex = text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let value = hex.then(|| u128::from_str_radix(text, 16).ok()).flatten()?;
        Some(Id(value.to_be_bytes()))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

/// Not the id itself: logs are read by those whom it does not concern.
impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id(..)")
    }
}

pub struct Sessions {
    places: Arc<Admission>,
    open: Mutex<HashMap<Id, Arc<Session>>>,
    limits: Limits,
}

pub struct Session {
    pub id: Id,
    flows: Mutex<BTreeMap<u16, Arc<Flow>>>,
    most_flows: usize,
    /// Transfers and account that are under way.
    users: AtomicUsize,
    used: Mutex<Instant>,
    has_account: AtomicBool,
    pub ends: Instant,
    idle: Duration,
    ended: AtomicBool,
    _place: Ticket,
}

pub struct Flow {
    pub direction: Direction,
    pub start_ns: i64,
    pub peer: Arc<Peer>,
    pub bytes: AtomicU64,
    last_ns: AtomicU64,
    end: Mutex<Option<End>>,
}

#[derive(Clone)]
pub struct End {
    at: Instant,
    pub tcp: Option<TcpAccount>,
    pub quic: Option<QuicAccount>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoFlow {
    /// The number is that of a transfer under way.
    Taken,
    /// The session has all it may have, those of the last ten seconds included.
    Enough,
}

impl Sessions {
    pub fn new(limits: &Limits) -> Sessions {
        Sessions {
            places: Admission::new(limits.sessions, limits.sessions_per_address),
            open: Mutex::default(),
            limits: limits.clone(),
        }
    }

    pub fn open(&self, address: IpAddr, now: Instant) -> Result<Arc<Session>, Full> {
        let session = Arc::new(Session {
            id: Id::draw(),
            flows: Mutex::default(),
            most_flows: self.limits.flows_per_session,
            users: AtomicUsize::new(0),
            used: Mutex::new(now),
            has_account: AtomicBool::new(false),
            ends: now + duration(self.limits.session_time),
            idle: duration(self.limits.session_idle),
            ended: AtomicBool::new(false),
            _place: self.places.admit(address)?,
        });
        lock(&self.open).insert(session.id, Arc::clone(&session));
        Ok(session)
    }

    /// Finding it is using it.
    pub fn find(&self, id: Id, now: Instant) -> Option<Arc<Session>> {
        let session = lock(&self.open).get(&id).cloned()?;
        *lock(&session.used) = now;
        Some(session)
    }

    pub fn close(&self, id: Id) {
        if let Some(session) = lock(&self.open).remove(&id) {
            session.ended.store(true, Ordering::Relaxed);
        }
    }

    /// Ends those that nobody uses and those that lived long enough.
    pub fn sweep(&self, now: Instant) {
        let mut open = lock(&self.open);
        open.retain(|_, session| {
            let stays = session.is_alive(now);
            if !stays {
                info!("session expired");
            }
            session.ended.fetch_or(!stays, Ordering::Relaxed);
            stays
        });
    }

    pub fn count(&self) -> usize {
        self.places.taken()
    }
}

impl Session {
    fn is_alive(&self, now: Instant) -> bool {
        let used = self.users.load(Ordering::Relaxed) > 0;
        now < self.ends && (used || now < *lock(&self.used) + self.idle)
    }

    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    pub fn expires(&self, now: Instant) -> Duration {
        (now + self.idle)
            .min(self.ends)
            .saturating_duration_since(now)
    }

    /// Begins a transfer.
    pub fn begin(
        self: &Arc<Self>,
        number: u16,
        direction: Direction,
        peer: &Arc<Peer>,
    ) -> Result<Transfer, NoFlow> {
        let mut flows = self.recent(Instant::now());
        if flows.get(&number).is_some_and(|f| lock(&f.end).is_none()) {
            return Err(NoFlow::Taken);
        }
        if flows.len() >= self.most_flows && !flows.contains_key(&number) {
            return Err(NoFlow::Enough);
        }
        let start_ns = monotonic().as_ns();
        let flow = Arc::new(Flow {
            direction,
            start_ns,
            peer: Arc::clone(peer),
            bytes: AtomicU64::new(0),
            last_ns: AtomicU64::new(start_ns.unsigned_abs()),
            end: Mutex::new(None),
        });
        flows.insert(number, Arc::clone(&flow));
        debug!(
            connection = peer.number,
            flow = number,
            direction = direction.name(),
            "transfer begins"
        );
        self.users.fetch_add(1, Ordering::Relaxed);
        Ok(Transfer {
            session: Arc::clone(self),
            flow,
        })
    }

    /// The session's account, if nobody has it.
    pub fn watch(self: &Arc<Self>) -> Option<Watching> {
        if self.has_account.swap(true, Ordering::Relaxed) {
            return None;
        }
        self.users.fetch_add(1, Ordering::Relaxed);
        Some(Watching(Arc::clone(self)))
    }

    /// Those under way and those that ended a short while ago, by number.
    pub fn flows(&self, now: Instant) -> Vec<(u16, Arc<Flow>)> {
        let flows = self.recent(now);
        flows.iter().map(|(n, f)| (*n, Arc::clone(f))).collect()
    }

    fn recent(&self, now: Instant) -> MutexGuard<'_, BTreeMap<u16, Arc<Flow>>> {
        let mut flows = lock(&self.flows);
        flows.retain(|_, flow| {
            lock(&flow.end)
                .as_ref()
                .is_none_or(|end| now < end.at + KEPT)
        });
        flows
    }

    fn left(&self) {
        *lock(&self.used) = Instant::now();
        self.users.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Flow {
    pub fn last_ns(&self) -> u64 {
        self.last_ns.load(Ordering::Relaxed)
    }

    pub fn end(&self) -> Option<End> {
        lock(&self.end).clone()
    }
}

/// A transfer under way, until dropped.
pub struct Transfer {
    session: Arc<Session>,
    flow: Arc<Flow>,
}

impl Transfer {
    pub fn count(&self, bytes: u64) {
        self.flow.bytes.fetch_add(bytes, Ordering::Relaxed);
        let now = monotonic().as_ns().unsigned_abs();
        self.flow.last_ns.store(now, Ordering::Relaxed);
    }

    pub fn is_unwanted(&self) -> bool {
        self.session.has_ended()
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        debug!(
            connection = self.flow.peer.number,
            direction = self.flow.direction.name(),
            bytes = self.flow.bytes.load(Ordering::Relaxed),
            "transfer ends"
        );
        *lock(&self.flow.end) = Some(End {
            at: Instant::now(),
            tcp: self.flow.peer.tcp(),
            quic: self.flow.peer.quic(),
        });
        self.session.left();
    }
}

/// An account that is being read, until dropped.
pub struct Watching(pub Arc<Session>);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.has_account.store(false, Ordering::Relaxed);
        self.0.left();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn peer() -> Arc<Peer> {
        Arc::new(Peer::new(0, (ADDRESS, 1).into(), true, None))
    }

    fn sessions() -> Sessions {
        Sessions::new(&Limits {
            flows_per_session: 2,
            sessions_per_address: 1,
            ..Limits::default()
        })
    }

    #[test]
    fn a_session_is_found_until_it_is_closed() {
        let (sessions, now) = (sessions(), Instant::now());
        let session = sessions.open(ADDRESS, now).ok().unwrap();
        let id = Id::parse(&session.id.to_string()).unwrap();
        assert!(sessions.find(id, now).is_some());
        assert_eq!(sessions.open(ADDRESS, now).err(), Some(Full::Address));
        sessions.close(id);
        assert!(sessions.find(id, now).is_none() && session.has_ended());
        drop(session);
        assert_eq!(sessions.count(), 0);
    }

    #[test]
    fn what_nobody_uses_expires_and_what_is_used_does_not() {
        let (sessions, now) = (sessions(), Instant::now());
        let session = sessions.open(ADDRESS, now).ok().unwrap();
        let watching = session.watch().unwrap();
        assert!(session.watch().is_none(), "one account at a time");
        sessions.sweep(now + Duration::from_secs(1000));
        assert!(!session.has_ended());
        drop(watching);
        sessions.sweep(Instant::now() + Duration::from_secs(119));
        assert!(!session.has_ended());
        sessions.sweep(Instant::now() + Duration::from_secs(121));
        assert!(session.has_ended());
    }

    #[test]
    fn a_number_is_one_transfer_at_a_time_and_transfers_have_a_bound() {
        let sessions = sessions();
        let session = sessions.open(ADDRESS, Instant::now()).ok().unwrap();
        let first = session.begin(3, Direction::Up, &peer()).ok().unwrap();
        first.count(10);
        let taken = session.begin(3, Direction::Up, &peer());
        assert_eq!(taken.err(), Some(NoFlow::Taken));
        drop(first);
        let flows = session.flows(Instant::now());
        assert_eq!(flows.len(), 1);
        assert_eq!(flows[0].1.bytes.load(Ordering::Relaxed), 10);
        assert!(flows[0].1.end().is_some());
        let again = session.begin(3, Direction::Down, &peer()).ok().unwrap();
        let other = session.begin(4, Direction::Down, &peer()).ok().unwrap();
        let enough = session.begin(5, Direction::Down, &peer());
        assert_eq!(enough.err(), Some(NoFlow::Enough));
        drop((again, other));
        let later = Instant::now() + Duration::from_secs(11);
        assert!(session.flows(later).is_empty());
    }
}
