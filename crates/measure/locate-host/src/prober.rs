//! Sends probes and waits for answers.

use crate::answers::{Answered, Book};
use crate::error::LocateError;
use crate::options::Options;
use crate::probe::{Asker, Kind, Reader, source};
use crate::record::Record;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::net::IpAddr;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tracing::{debug, info};
use unbloat_locate::{PEER, Phase};
use unbloat_units::Time;

/// Messages that are read before the clock is looked at again: a flood must not stop the schedule.
const AT_ONCE: usize = 256;
/// Enough for everywhere.
const FULL_TTL: u8 = 64;
/// For the answer to an echo request.
const PATIENCE: Duration = Duration::from_millis(300);

pub(crate) struct Prober {
    path: Asker,
    /// Echo requests to the far end, and which hop that is.
    far_end: Option<(Asker, u8)>,
    peer: Option<(Asker, IpAddr)>,
    target: IpAddr,
    reader: Reader,
    pub(crate) book: Book,
}

impl Prober {
    pub(crate) fn open(options: &Options) -> Result<Prober, LocateError> {
        let peer = options.peer.map(|peer| {
            // All nodes answer echo requests at any rate; not everybody may send them.
            let echo = Kind::Icmp.open(peer, 0);
            let asker = echo.or_else(|error| {
                debug!(%peer, %error, "no echo requests to the peer; it is asked by UDP");
                Kind::Udp.open(peer, options.port)
            });
            let asker = asker.map_err(|source| LocateError::unopened(Kind::Udp, peer, source));
            asker.map(|asker| (asker, peer))
        });
        let (kind, target) = (options.kind, options.target);
        info!(
            %target,
            kind = kind.name(),
            port = options.port,
            peer = options.peer.map(display),
            "probing the path"
        );
        let path = kind.open(target, options.port);
        Ok(Prober {
            path: path.map_err(|source| LocateError::unopened(kind, target, source))?,
            far_end: None,
            peer: peer.transpose()?,
            target: options.target,
            reader: Reader::new(),
            book: Book {
                own: source(options.target).ok(),
                ..Book::default()
            },
        })
    }

    /// Sends a probe to a hop, or the peer.
    pub(crate) fn ask(
        &mut self,
        hop: u8,
        phase: Option<Phase>,
        round: u32,
    ) -> Result<(), LocateError> {
        let id = self.book.open(Record {
            hop,
            phase,
            round,
            sent: now(),
            queued: None,
            left: None,
            answer: None,
        });
        let sent = match &self.peer {
            Some((asker, _)) if hop == PEER => asker.send(id, FULL_TTL),
            _ => match &self.far_end {
                Some((asker, at)) if hop == *at => asker.send(id, FULL_TTL),
                _ => self.path.send(id, hop),
            },
        };
        let target = self.target;
        match sent.map_err(|source| LocateError::Send { target, source })? {
            true => self.book.counts.sent += 1,
            false => self.book.counts.refused += 1,
        }
        Ok(())
    }

    /// Asks the far end by echo requests from now on, if it answers them: systems say once a second that a port is
    /// closed, and echo at any rate.
    pub(crate) fn echo_far_end(&mut self, at: u8) -> Result<(), LocateError> {
        const TRIES: u32 = 3;
        let asker = match Kind::Icmp.open(self.target, 0) {
            Ok(asker) => asker,
            Err(error) => {
                debug!(%error, "no echo requests to the far end; it is asked by UDP");
                return Ok(());
            }
        };
        self.far_end = Some((asker, at));
        for _ in 0..TRIES {
            let mut has_answered = false;
            self.ask(at, None, 0)?;
            self.wait(Instant::now() + PATIENCE, |answered| {
                has_answered |= answered.hop == at
            })?;
            if has_answered {
                debug!(hop = at, "the far end answers echo requests");
                return Ok(());
            }
        }
        debug!(
            hop = at,
            "the far end does not answer echo requests; it is asked by UDP"
        );
        self.far_end = None;
        Ok(())
    }

    /// Notes answers until then.
    pub(crate) fn wait(
        &mut self,
        until: Instant,
        mut on_answer: impl FnMut(Answered),
    ) -> Result<(), LocateError> {
        loop {
            let is_more = self.read(&mut on_answer)?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            if !is_more {
                self.sleep(left)?;
            }
        }
    }

    fn sleep(&self, span: Duration) -> Result<(), LocateError> {
        let far_end = self.far_end.iter().map(|(asker, _)| asker);
        let peer = self.peer.iter().map(|(asker, _)| asker);
        let mut waited: Vec<PollFd> = std::iter::once(&self.path)
            .chain(far_end)
            .chain(peer)
            .map(|asker| PollFd::new(&asker.socket, PollFlags::IN))
            .collect();
        match poll(&mut waited, Timespec::try_from(span).ok().as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(LocateError::Receive {
                source: error.into(),
            }),
        }
    }

    /// Reads what there is; whether there may be more.
    fn read(&mut self, on_answer: &mut impl FnMut(Answered)) -> Result<bool, LocateError> {
        let path = (&self.path, self.target, false);
        let far_end = self
            .far_end
            .iter()
            .map(|(asker, _)| (asker, self.target, false));
        let peer = self
            .peer
            .iter()
            .map(|(asker, address)| (asker, *address, true));
        let mut is_more = false;
        for (asker, target, is_peer) in std::iter::once(path).chain(far_end).chain(peer) {
            let mut count = 0;
            while count < AT_ONCE {
                let next = self.reader.next(&asker.socket);
                let next = next.map_err(|source| LocateError::Receive { source })?;
                let Some(incoming) = next else { break };
                let form = &*asker.form;
                let answered = self.book.take(&incoming, form, target, is_peer, now());
                // The peer is no hop of the path.
                answered
                    .filter(|_| !is_peer)
                    .into_iter()
                    .for_each(&mut *on_answer);
                count += 1;
            }
            is_more |= count == AT_ONCE;
        }
        Ok(is_more)
    }
}

/// The clock of the kernel's stamps.
fn now() -> Time {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Time::from_ns(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}
