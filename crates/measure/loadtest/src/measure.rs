//! A whole test: stages one after the other, with all that watches them.

mod apps;
mod away;
mod collect;
mod endpoint;
mod meet;
mod stage;

use crate::account;
use crate::addresses::first;
use crate::echo::Echoing;
use crate::error::TestError;
use crate::interface::Interface;
use crate::load::Carrier;
use crate::measured::{AppRun, Gone, Measured, Server, StageRun};
use crate::ndt7;
use crate::options::{Flows, Http, Options, Probing};
use crate::ping::Pinging;
use crate::plan::{Load, Stack};
use crate::probes::Prober;
use crate::public::{self, Public};
use crate::sampler::Sampler;
use crate::target::Target;
use collect::Collected;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tracing::{debug, info};
use unbloat_os::clock::{Clock, monotonic};
use unbloat_responsiveness::Echoless;
use unbloat_units::{Both, Delta, Rate};

/// For the echo's server to agree.
const ECHO_PATIENCE: Duration = Duration::from_secs(4);
const TICK: Duration = Duration::from_millis(20);
/// For replies, and the account's last lines.
const LAST_WAIT: Duration = Duration::from_millis(300);
/// Between stages at least and at most; queues empty in between.
const PAUSE: [Delta; 2] = [Delta::ms(500), Delta::secs(6)];
/// So near to the least round trip the path is at rest.
const AT_REST: Delta = Delta::ms(5);

/// How far a test is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    pub stage: usize,
    pub stages: usize,
    pub load: Load,
    pub stack: Stack,
    pub elapsed: Delta,
    pub lasts: Delta,
    pub flows: usize,
    /// Body bytes as this process sees them, over the last second.
    pub down: Rate,
    pub up: Rate,
    /// Of the last datagram that came back.
    pub rtt: Option<Delta>,
}

/// Runs a test. It ends early, with what was seen until then, once `stop` is true.
pub fn measure(
    options: &Options,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Measured, TestError> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(TestError::Begin)?;
    let clock = Clock::from(monotonic());
    let wall = SystemTime::now().duration_since(UNIX_EPOCH);
    let begun_ns = wall.map_or(0, |since| {
        i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
    });
    let options = fitted(options);
    let measured = runtime.block_on(async {
        let test = Test::begin(&options, clock, stop).await?;
        Ok(test.run(begun_ns, stop, progress).await)
    });
    // What hangs in a dead connection is not waited for.
    runtime.shutdown_background();
    measured
}

/// As the server's protocol lets it be measured.
fn fitted(options: &Options) -> Options {
    let mut fitted = options.clone();
    if Public::of(&options.target).is_some() {
        // It is for the user's own servers.
        fitted.token = None;
    }
    if let Target::Ndt7(_) | Target::Mlab(_) = options.target {
        fitted.flows = Flows::Fixed(1);
        fitted.plan = options.plan.clone().as_is().one_way(ndt7::LASTS);
    } else if options.http == Http::Three {
        fitted.plan = options.plan.clone().as_is();
    }
    fitted
}

/// A test under way.
struct Test<'a> {
    options: &'a Options,
    flows: Flows,
    clock: Clock,
    server: Server,
    /// None where nothing carries load.
    carrier: Option<Arc<Carrier>>,
    prober: Option<Arc<Prober>>,
    echoing: Option<Echoing>,
    pinging: Option<Pinging>,
    account: Option<(Arc<Mutex<account::Account>>, tokio::task::JoinHandle<()>)>,
    sampler: Option<Sampler>,
    apps: Vec<AppRun>,
    /// What each direction carries, as far as it is known yet.
    carried: Both<Option<Rate>>,
    limitations: Vec<String>,
    gone: Option<Gone>,
}

impl<'a> Test<'a> {
    async fn begin(
        options: &'a Options,
        clock: Clock,
        stop: &AtomicBool,
    ) -> Result<Test<'a>, TestError> {
        info!(server = %options.target, "contacting the server");
        let met = meet::meet(options, clock).await?;
        info!(
            address = met.server.address.map(display),
            http = met.server.http.map(Http::name),
            tls = met.server.tls,
            echo = ?met.echo,
            has_account = met.server.has_account,
            "server chosen"
        );
        let carrier = met.carrier.map(Arc::new);
        let is_public = carrier
            .as_ref()
            .is_some_and(|carrier| carrier.service.bound.is_some() || carrier.ndt7.is_some());
        let probing = match is_public {
            true => Probing {
                pairs_per_s: options.probing.pairs_per_s.min(public::PAIRS_PER_S),
                ..options.probing
            },
            false => options.probing,
        };
        let mut test = Test {
            options,
            flows: match options.flows {
                Flows::Ramp { .. } if is_public => public::FLOWS,
                flows => flows,
            },
            clock,
            server: met.server,
            prober: carrier
                .as_ref()
                .map(|carrier| Arc::new(Prober::new(carrier.clone(), probing))),
            carrier,
            echoing: None,
            pinging: None,
            account: None,
            sampler: None,
            apps: Vec::new(),
            carried: Both::default(),
            limitations: met.limitations,
            gone: None,
        };
        test.check_apps();
        if let Some(of_test) = &test.carrier {
            let (flows, beside) = (of_test.flows.clone(), of_test.dialer.beside.clone());
            let window = of_test.settings.receive_window;
            let interface = test.server.address.and_then(Interface::towards);
            let sampler = Sampler::begin(flows, beside, clock, (window, interface));
            test.sampler = Some(sampler.map_err(TestError::Begin)?);
            let has_session = of_test.service.session.is_some();
            test.account = has_session.then(|| account::read(of_test.clone()));
        }
        if !met.echo.is_empty() {
            test.begin_echo(&met.echo, stop).await?;
        }
        test.begin_pings();
        Ok(test)
    }

    /// Without an echo there is nothing to measure where nothing carries load either.
    async fn begin_echo(&mut self, at: &[SocketAddr], stop: &AtomicBool) -> Result<(), TestError> {
        let pauses = PAUSE[1] * (self.options.plan.stages.len() as i64 + 2);
        let plan = unbloat_irtt::Plan {
            duration: self.options.plan.lasts() + pauses + Delta::secs(10),
            interval: self.options.probing.shortest(),
            length: self.options.probing.echo_bytes,
            tos: 0,
            key: self
                .options
                .token
                .as_ref()
                .map(|token| unbloat_irtt::wire::Key::new(token.as_bytes())),
        };
        let stopped = async {
            while !stop.load(Ordering::Relaxed) {
                tokio::time::sleep(TICK).await;
            }
        };
        let opened = tokio::select! {
            opened = first(at, |to| open_echo(to, plan.clone(), self.clock)) => opened,
            () = stopped => return Err(TestError::Stopped),
        };
        match opened {
            Ok((to, echoing)) => {
                debug!(%to, "server echoes datagrams");
                echoing.pace_at(self.options.probing.pace(self.carried));
                self.server.echo = Some(to);
                self.echoing = Some(echoing);
            }
            Err((to, why)) if self.carrier.is_none() => {
                let reason = why.to_string();
                return Err(TestError::NoEcho { to, reason });
            }
            Err((to, why)) => {
                info!(%to, reason = %why, "no datagrams");
                self.server.echoless = Some(Echoless::Silent { port: to.port() });
                self.limitations.push(format!(
                    "no datagrams: {to}: {why}; directions and loss cannot be distinguished"
                ));
            }
        }
        Ok(())
    }

    fn begin_pings(&mut self) {
        let Some(to) = self.server.address.or(self.server.echo) else {
            return;
        };
        match Pinging::begin(to, self.clock) {
            Ok(pinging) => self.pinging = Some(pinging),
            Err(error) => {
                debug!(%to, %error, "no ICMP echo requests");
                self.limitations.push(format!(
                    "ICMP: {error}; this user's group is not in net.ipv4.ping_group_range"
                ));
            }
        }
    }

    async fn run(
        mut self,
        begun_ns: i64,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(&Progress),
    ) -> Measured {
        let mut stages: Vec<StageRun> = Vec::new();
        for number in 0..self.options.plan.stages.len() {
            let planned = self.options.plan.stages[number];
            if planned.load != Load::Idle && !self.carries(planned.load) {
                continue;
            }
            if stop.load(Ordering::Relaxed) || self.gone.is_some() {
                break;
            }
            let place = (stages.len(), number);
            stages.push(self.stage(place, stop, progress).await);
            if self.gone.is_none() {
                self.pause(stop).await;
            }
        }
        tokio::time::sleep(LAST_WAIT).await;
        let is_cut = stop.load(Ordering::Relaxed);
        let collected = self.collect(&mut stages).await;
        let Collected {
            flows,
            echoes,
            paces,
            clocks,
            probes,
            counts,
            beside,
            interface,
            kernel,
        } = collected;
        Measured {
            options: self.options.clone(),
            begun_ns,
            server: self.server,
            stages,
            flows,
            echoes,
            paces,
            clocks,
            probes,
            counts,
            beside,
            interface,
            kernel,
            apps: self.apps,
            limitations: self.limitations,
            is_cut,
            gone: self.gone,
        }
    }

    fn carries(&self, load: Load) -> bool {
        let carrier = self.carrier.as_ref();
        carrier.is_some_and(|carrier| carrier.service.carries(load) && !carrier.is_spent(load))
    }

    /// The least round trip, and the last one: of datagrams, else of ICMP.
    fn round_trips(&self) -> Option<[Delta; 2]> {
        match &self.echoing {
            Some(echoing) => Some([echoing.least_rtt()?, echoing.rtt()?]),
            None => self.pinging.as_ref()?.seen(),
        }
    }

    /// Until the path is at rest again.
    async fn pause(&self, stop: &AtomicBool) {
        let begin = self.clock.now();
        loop {
            tokio::time::sleep(TICK).await;
            let waited = self.clock.now().since(begin);
            let is_at_rest = self
                .round_trips()
                .is_none_or(|[least, last]| last <= least + AT_REST);
            let is_over = waited >= PAUSE[0] && is_at_rest || waited >= PAUSE[1];
            if is_over || stop.load(Ordering::Relaxed) {
                debug!(
                    waited_ms = waited.as_ms(),
                    is_at_rest, "paused between stages"
                );
                break;
            }
        }
    }
}

/// An echo to which the server at that address agrees.
async fn open_echo(
    to: SocketAddr,
    plan: unbloat_irtt::Plan,
    clock: Clock,
) -> std::io::Result<Echoing> {
    let echoing = Echoing::begin(to, plan, clock)?;
    let begin = std::time::Instant::now();
    while !echoing.is_open() && !echoing.has_ended() && begin.elapsed() < ECHO_PATIENCE {
        tokio::time::sleep(TICK).await;
    }
    if echoing.is_open() {
        return Ok(echoing);
    }
    let failure = echoing.end().failure;
    let kind = match failure {
        Some(_) => ErrorKind::ConnectionRefused,
        None => ErrorKind::TimedOut,
    };
    let why = failure.unwrap_or_else(|| "no answer to its request".to_owned());
    Err(std::io::Error::new(kind, why))
}
