//! Load of one stage: connections that carry data as fast as the path lets them.

use crate::error::root;
use crate::flow::{Flow, Flows};
use crate::http::{self, Dialer, Incoming, Link, Sender};
use crate::ndt7::{self, Notes};
use crate::options::Http;
use crate::plan::{Load, Stack};
use crate::service::Service;
use crate::socket::{self, Settings};
use crate::upload::{Allowance, Body, noise};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::{Method, Response, StatusCode};
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock};
use tokio::task::JoinHandle;
use tracing::{debug, info};
use unbloat_os::lock::lock;
use unbloat_os::tcp_info::TcpInfo;
use unbloat_units::{Both, Delta, Direction};
use unbloat_untrusted::one_line;

/// Of an object: what the first windows of a connection hold is no load, however often it is asked for.
const LEAST_OBJECT: u64 = 64 << 10;

/// All that carriers of load share.
pub struct Carrier {
    pub dialer: Dialer,
    pub service: Service,
    pub settings: Settings,
    pub http: Http,
    pub flows: Arc<Flows>,
    /// Connections that self probes may use.
    pub shared: Mutex<Vec<(Arc<Flow>, Sender)>>,
    pub data: Bytes,
    /// What bodies may still hold, each way.
    allowance: Both<Arc<Allowance>>,
    /// The status with which a server of others asked for no more.
    asked: OnceLock<u16>,
    /// Carries by ndt7 in place of HTTP, and has there what the server says.
    pub ndt7: Option<Mutex<Notes>>,
}

impl Carrier {
    pub fn new(dialer: Dialer, service: Service, settings: Settings, http: Http) -> Carrier {
        let bound = service.bound.map_or(u64::MAX, unbloat_units::Bytes::as_u64);
        Carrier {
            allowance: Both::of(|_| Arc::new(Allowance::new(bound))),
            asked: OnceLock::new(),
            dialer,
            service,
            settings,
            http,
            flows: Arc::default(),
            shared: Mutex::default(),
            data: noise(),
            ndt7: None,
        }
    }

    /// Begins one more connection; ended by ending its flow and aborting the task.
    pub fn begin(
        self: &Arc<Self>,
        stage: usize,
        direction: Direction,
        stack: Stack,
    ) -> (Arc<Flow>, JoinHandle<()>) {
        let now = self.dialer.clock.now();
        let flow = self.flows.begin(stage, direction, stack, now);
        let (carrier, of_task) = (self.clone(), flow.clone());
        let task = tokio::spawn(async move {
            let ended = carrier.carry(&of_task).await;
            let failure = match ended {
                Ok(()) => "the server ended it".to_owned(),
                Err(error) => root(&error),
            };
            // The test has ended it if it is not open.
            if of_task.is_open() {
                info!(
                    connection = of_task.number,
                    direction = direction.name(),
                    reason = failure,
                    "load connection failed"
                );
            }
            of_task.end(carrier.dialer.clock.now(), Some(failure));
        });
        (flow, task)
    }

    async fn carry(&self, flow: &Arc<Flow>) -> io::Result<()> {
        if let Some(notes) = &self.ndt7 {
            let path = ndt7::Path {
                dialer: &self.dialer,
                service: &self.service,
                settings: &self.settings,
                data: &self.data,
                allowance: &self.allowance[flow.direction],
            };
            return ndt7::carry(path, notes, flow).await;
        }
        let connection = self
            .dialer
            .open(self.http, &self.settings.for_flow(flow))
            .await?;
        debug!(
            connection = flow.number,
            direction = flow.direction.name(),
            http = connection.http().name(),
            tcp_ms = connection.tcp.map(Delta::as_ms),
            tls_ms = connection.tls.map(Delta::as_ms),
            "load connection opened"
        );
        let (mut sender, link) = connection.into_parts();
        if let (Stack::NetworkOnly, Link::Tcp(handle)) = (flow.stack, &link) {
            let segment = TcpInfo::of(handle.as_fd())?.mss();
            let bytes = socket::limit_unsent(handle.as_fd(), None, segment)?;
            flow.pace.set_unsent(bytes);
            if flow.direction == Direction::Up {
                socket::gather(handle.as_fd())?;
            }
        }
        flow.give(link);
        if let Some(shared) = sender.share() {
            lock(&self.shared).push((flow.clone(), shared));
        }
        match flow.direction {
            Direction::Down => self.download(flow, &mut sender).await,
            Direction::Up => self.upload(flow, &mut sender).await,
        }
    }

    async fn download(&self, flow: &Flow, sender: &mut Sender) -> io::Result<()> {
        // A body of another length is no answer to what was asked.
        let object = self.service.object;
        loop {
            let path = self.service.load_path(flow);
            let response = self.ask(sender, (Method::GET, &path), Body::Empty).await?;
            let mut body = self.accepted(response).await?;
            let mut came = 0;
            while let Some(frame) = body.frame().await {
                let frame = frame.map_err(io::Error::other)?;
                if let Some(data) = frame.data_ref() {
                    came += data.len() as u64;
                    if !self.allowance[Direction::Down].take(data.len() as u64) {
                        // The stage ends with it.
                        std::future::pending::<()>().await;
                    }
                    if let Some(object) = object.filter(|object| came > *object) {
                        let more = format!("it sends more than the {object} bytes of its object");
                        return Err(io::Error::other(more));
                    }
                    flow.read(data.len(), self.dialer.clock.now());
                }
            }
            if let Some(object) = object.filter(|object| came < *object) {
                let less = format!("it ended its object of {object} bytes after {came}");
                return Err(io::Error::other(less));
            }
            // A short object is asked for again.
            if came < LEAST_OBJECT {
                return Err(io::Error::other(format!(
                    "its large object has only {came} bytes"
                )));
            }
        }
    }

    async fn upload(&self, flow: &Flow, sender: &mut Sender) -> io::Result<()> {
        loop {
            let path = self.service.load_path(flow);
            let before = flow.pace.bytes.load(Ordering::Relaxed);
            let body = Body::Data {
                pace: flow.pace.clone(),
                data: self.data.clone(),
                rest: self.service.piece,
                allowance: self.allowance[Direction::Up].clone(),
            };
            let response = self.ask(sender, (Method::POST, &path), body).await?;
            let answer = self.accepted(response).await?;
            let Some(piece) = self.service.piece else {
                return Ok(());
            };
            if flow.pace.bytes.load(Ordering::Relaxed) - before < piece {
                return Err(io::Error::other("it answered before it had the data"));
            }
            http::whole(answer, 4_096).await?;
        }
    }

    async fn ask(
        &self,
        sender: &mut Sender,
        what: (Method, &str),
        body: Body,
    ) -> io::Result<Response<Incoming>> {
        let token = self.service.token.as_deref();
        let request = http::request(&self.dialer.origin, what, token, body)?;
        sender.send(http::fit(request, sender)?).await
    }

    /// The body of a 200, or what the server said instead.
    pub async fn accepted(&self, response: Response<Incoming>) -> io::Result<Incoming> {
        let status = response.status();
        if status.is_success() {
            return Ok(response.into_body());
        }
        let is_busy = [
            StatusCode::TOO_MANY_REQUESTS,
            StatusCode::SERVICE_UNAVAILABLE,
        ];
        if self.service.bound.is_some() && is_busy.contains(&status) {
            // The first is enough.
            let _ = self.asked.set(status.as_u16());
        }
        let said = http::whole(response.into_body(), 4_096)
            .await
            .unwrap_or_default();
        let said = one_line(&String::from_utf8_lossy(&said));
        Err(io::Error::other(
            format!("{status} {said}").trim_end().to_owned(),
        ))
    }

    /// The status with which the server asked for no more requests.
    pub fn asked(&self) -> Option<u16> {
        self.asked.get().copied()
    }

    /// Nothing more may be carried in one of the directions of a load.
    pub fn is_spent(&self, load: Load) -> bool {
        let mut ways = Direction::BOTH.into_iter();
        ways.any(|way| load.has(way) && self.allowance[way].is_spent())
    }

    /// One of the connections that self probes may use, by a number that is random.
    pub fn any_shared(&self, number: usize) -> Option<(u16, Sender)> {
        let mut shared = lock(&self.shared);
        shared.retain(|(flow, _)| flow.is_open());
        let (flow, sender) = shared.get(number % shared.len().max(1))?;
        Some((flow.number, sender.share()?))
    }
}
