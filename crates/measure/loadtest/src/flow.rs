//! Load connections that live, as those see them who do not carry their data.

use crate::http::Link;
use crate::measured::FlowRun;
use crate::plan::Stack;
use crate::upload::Pace;
use crate::{quic, socket};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use unbloat_os::lock::lock;
use unbloat_os::tcp;
use unbloat_os::tcp_info::TcpInfo;
use unbloat_units::{Bytes, Delta, Direction, Time};

/// How long the other side may still tell of a flow that has ended; ours does so for as long.
const KEPT: Delta = Delta::secs(10);

/// One load connection.
#[derive(Debug)]
pub struct Flow {
    pub number: u16,
    pub stage: usize,
    pub direction: Direction,
    pub stack: Stack,
    begin: Time,
    /// Bytes of the body: read (down) or given to HTTP (up).
    pub pace: Arc<Pace>,
    /// When the first of them moved; negative while none has.
    ready_ns: AtomicI64,
    link: Mutex<Option<Link>>,
    end: Mutex<Option<End>>,
}

#[derive(Clone, Debug)]
struct End {
    at: Time,
    failure: Option<String>,
    congestion_control: Option<String>,
    /// The last that the kernel said: on a busy machine the sampler may have been there long before.
    last: Option<TcpInfo>,
}

impl Flow {
    /// Counts bytes that were read.
    pub fn read(&self, bytes: usize, now: Time) {
        if self.pace.bytes.fetch_add(bytes as u64, Ordering::Relaxed) == 0 {
            self.ready_ns.store(now.as_ns(), Ordering::Relaxed);
        }
    }

    pub fn give(&self, link: Link) {
        *lock(&self.link) = Some(link);
    }

    /// Looks at the socket, if it is one of TCP and there still.
    pub fn with_socket<T>(&self, look: impl FnOnce(&OwnedFd) -> T) -> Option<T> {
        match &*lock(&self.link) {
            Some(Link::Tcp(socket)) => Some(look(socket)),
            _ => None,
        }
    }

    /// Ends it once, and its connection at once: HTTP/2 would first wait for what goes over it, behind all that the stage has left in queues, and
    /// the next stage's load would share the line with it.
    pub fn end(&self, at: Time, failure: Option<String>) {
        let mut end = lock(&self.end);
        if end.is_none() {
            let (congestion_control, last) = match lock(&self.link).take() {
                Some(Link::Tcp(socket)) => {
                    let socket = socket.as_fd();
                    let known = (socket::congestion_control(socket), TcpInfo::of(socket).ok());
                    // It fails where nothing is connected any longer.
                    let _ = tcp::abort(socket);
                    known
                }
                Some(Link::Quic(connection)) => {
                    quic::close(&connection);
                    (None, None)
                }
                None => (None, None),
            };
            *end = Some(End {
                at,
                failure,
                congestion_control,
                last,
            });
        }
    }

    pub fn is_open(&self) -> bool {
        lock(&self.end).is_none()
    }

    fn run(&self, now: Time) -> FlowRun {
        let end = lock(&self.end).clone();
        let ready = self.ready_ns.load(Ordering::Relaxed);
        FlowRun {
            flow: self.number,
            stage: self.stage,
            direction: self.direction,
            begin: self.begin,
            ready: (ready >= 0).then(|| Time::from_ns(ready)),
            end: end.as_ref().map_or(now, |end| end.at),
            bytes: Bytes::new(self.pace.bytes.load(Ordering::Relaxed)),
            congestion_control: end.as_ref().and_then(|end| end.congestion_control.clone()),
            failure: end.and_then(|end| end.failure),
        }
    }
}

/// All load connections of a test.
#[derive(Debug, Default)]
pub struct Flows {
    /// By number.
    all: Mutex<Vec<Arc<Flow>>>,
}

impl Flows {
    pub fn begin(&self, stage: usize, direction: Direction, stack: Stack, now: Time) -> Arc<Flow> {
        let mut all = lock(&self.all);
        let flow = Arc::new(Flow {
            number: u16::try_from(all.len()).unwrap_or(u16::MAX),
            stage,
            direction,
            stack,
            begin: now,
            pace: Arc::default(),
            ready_ns: AtomicI64::new(-1),
            link: Mutex::default(),
            end: Mutex::default(),
        });
        all.push(flow.clone());
        flow
    }

    /// Those that have not ended.
    pub fn open(&self) -> Vec<Arc<Flow>> {
        let all = lock(&self.all);
        all.iter().filter(|flow| flow.is_open()).cloned().collect()
    }

    /// What the kernel said of each when it ended.
    pub fn lasts(&self) -> Vec<(Arc<Flow>, Time, TcpInfo)> {
        let all = lock(&self.all);
        let last = |flow: &Arc<Flow>| {
            let end = lock(&flow.end).clone()?;
            Some((flow.clone(), end.at, end.last?))
        };
        all.iter().filter_map(last).collect()
    }

    /// Which way a flow goes, if there is one of that number whose end is not long past.
    pub fn direction(&self, number: u16, now: Time) -> Option<Direction> {
        let flow = lock(&self.all).get(usize::from(number)).cloned()?;
        let end = lock(&flow.end).as_ref().map(|end| end.at);
        end.is_none_or(|end| now.since(end) < KEPT)
            .then_some(flow.direction)
    }

    pub fn runs(&self, now: Time) -> Vec<FlowRun> {
        lock(&self.all).iter().map(|flow| flow.run(now)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{ErrorKind, Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    #[test]
    fn a_flow_that_ends_resets_its_connection_though_its_carrier_still_holds_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let carrier = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut server = listener.accept().unwrap().0;
        let now = Time::from_ns(0);
        let flow = Flows::default().begin(0, Direction::Down, Stack::NetworkOnly, now);
        flow.give(Link::Tcp(carrier.as_fd().try_clone_to_owned().unwrap()));
        server.write_all(&[0; 1_000]).unwrap();
        flow.end(now, None);
        server
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        let error = server.read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        drop(carrier);
    }
}
