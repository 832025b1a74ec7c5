//! Load of one stage: connections that carry data as fast as the path lets them.

use crate::error::root;
use crate::flow::{Flow, Flows};
use crate::http::{self, Dialer, Incoming, Link, Sender};
use crate::ndt7::{self, Notes};
use crate::options::Http;
use crate::plan::Stack;
use crate::service::Service;
use crate::socket::{self, Settings};
use crate::upload::{Body, noise};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::{Method, Response};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::Mutex;
use tokio::task::JoinHandle;
use tracing::{debug, info};
use unbloat_os::lock::lock;
use unbloat_os::tcp_info::TcpInfo;
use unbloat_units::{Delta, Direction};
use unbloat_untrusted::one_line;

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
    /// Carries by ndt7 in place of HTTP, and has there what the server says.
    pub ndt7: Option<Mutex<Notes>>,
}

impl Carrier {
    pub fn new(dialer: Dialer, service: Service, settings: Settings, http: Http) -> Carrier {
        Carrier {
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
        loop {
            let path = self.service.load_path(flow);
            let response = self.ask(sender, (Method::GET, &path), Body::Empty).await?;
            let mut body = accepted(response).await?;
            while let Some(frame) = body.frame().await {
                let frame = frame.map_err(io::Error::other)?;
                if let Some(data) = frame.data_ref() {
                    flow.read(data.len(), self.dialer.clock.now());
                }
            }
            // A short object is asked for again; one without data would be for ever.
            if flow.pace.bytes.load(std::sync::atomic::Ordering::Relaxed) == 0 {
                return Err(io::Error::other("its large object is empty"));
            }
        }
    }

    async fn upload(&self, flow: &Flow, sender: &mut Sender) -> io::Result<()> {
        let path = self.service.load_path(flow);
        let body = Body::endless(flow.pace.clone(), self.data.clone());
        let response = self.ask(sender, (Method::POST, &path), body).await?;
        accepted(response).await.map(drop)
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

    /// One of the connections that self probes may use, by a number that is random.
    pub fn any_shared(&self, number: usize) -> Option<(u16, Sender)> {
        let mut shared = lock(&self.shared);
        shared.retain(|(flow, _)| flow.is_open());
        let (flow, sender) = shared.get(number % shared.len().max(1))?;
        Some((flow.number, sender.share()?))
    }
}

/// The body of a 200, or what the server said instead.
async fn accepted(response: Response<Incoming>) -> io::Result<Incoming> {
    let status = response.status();
    if status.is_success() {
        return Ok(response.into_body());
    }
    let said = http::whole(response.into_body(), 4_096)
        .await
        .unwrap_or_default();
    let said = one_line(&String::from_utf8_lossy(&said));
    Err(io::Error::other(
        format!("{status} {said}").trim_end().to_owned(),
    ))
}
