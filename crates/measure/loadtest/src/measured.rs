//! What a test saw, before anybody concludes from it. Times are since its beginning, by this machine's monotonic clock.

use crate::options::{Http, Options};
use crate::plan::{Load, Stack};
use unbloat_units::{Both, Bytes, Delta, Direction, Rate, Time, named};

/// Everything that one test saw.
#[derive(Clone, Debug)]
pub struct Measured {
    pub options: Options,
    /// By the wall clock, nanoseconds since 1970, when the test's clock showed zero.
    pub begun_ns: i64,
    pub server: Server,
    pub stages: Vec<StageRun>,
    pub flows: Vec<FlowRun>,
    pub echoes: Vec<Echo>,
    /// From when on datagrams left at which interval, in order of time.
    pub paces: Vec<(Time, Delta)>,
    /// How the two clocks were set against each other; None where the server gives no times.
    pub clocks: Option<Clocks>,
    pub probes: Vec<Probe>,
    pub counts: Vec<Count>,
    pub beside: Vec<Beside>,
    /// None where no counters of an interface are the path's alone.
    pub interface: Option<Passed>,
    pub kernel: Vec<KernelSample>,
    pub apps: Vec<AppRun>,
    /// Sentences: what this server or this system could not give.
    pub limitations: Vec<String>,
    /// It was stopped before its end.
    pub is_cut: bool,
    /// It ended early because the server did.
    pub gone: Option<Gone>,
}

/// The server went away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone {
    /// When the last sign of it came.
    pub at: Time,
    pub how: unbloat_responsiveness::Leaving,
}

/// How an application went during one stage.
#[derive(Clone, Debug, PartialEq)]
pub struct AppRun {
    /// Number in [`Measured::stages`].
    pub stage: usize,
    pub report: crate::apps::AppReport,
}

/// Who answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Server {
    /// Address and port of the load connections.
    pub address: Option<std::net::SocketAddr>,
    /// The one that was asked, where the server named the other for its load.
    pub asked: Option<std::net::SocketAddr>,
    /// Of HTTP, once a connection is there.
    pub http: Option<Http>,
    pub tls: Option<String>,
    /// It gave a session, so an account of its side.
    pub has_account: bool,
    pub echo: Option<std::net::SocketAddr>,
    /// Why there is none, where one was to be expected.
    pub echoless: Option<unbloat_responsiveness::Echoless>,
    /// The echo's receive and send stamps came, so directions are told apart.
    pub echo_has_stamps: bool,
}

/// A stage as it was run.
#[derive(Clone, Debug, PartialEq)]
pub struct StageRun {
    pub load: Load,
    pub stack: Stack,
    pub begin: Time,
    pub end: Time,
    /// It ended before half of it was over: there is too little to judge.
    pub is_cut: bool,
    pub host: HostLoad,
}

/// How busy this machine was.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HostLoad {
    /// Share of all CPUs' time that was not idle; None where the system does not tell.
    pub busy: Option<f64>,
    /// Share that a hypervisor gave to others.
    pub stolen: Option<f64>,
    /// CPUs that this process took, 1 is a whole one.
    pub own_cpus: Option<f64>,
    /// Datagrams of the echo that were sent more than a millisecond late, and how many there were.
    pub late_sends: u64,
    pub sends: u64,
}

/// One load connection.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRun {
    /// Unique in the test.
    pub flow: u16,
    pub stage: usize,
    pub direction: Direction,
    pub begin: Time,
    /// The first byte of the body moved.
    pub ready: Option<Time>,
    pub end: Time,
    /// Body bytes that this process read or gave to HTTP.
    pub bytes: Bytes,
    /// In place at the end of the connection.
    pub congestion_control: Option<String>,
    /// Why it ended before its stage.
    pub failure: Option<String>,
}

named! {
    /// What became of one datagram.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Fate {
        Back = "back",
        LostUp = "lost_up",
        LostDown = "lost_down",
        /// The server does not tell in which direction.
        Lost = "lost",
    }
}

/// One datagram there and back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Echo {
    pub seq: u64,
    pub sent: Time,
    pub fate: Fate,
    /// Without the server's processing.
    pub rtt: Option<Delta>,
    /// Of each direction what exceeds its least of the whole test, drift of the clocks corrected.
    pub added_up: Option<Delta>,
    pub added_down: Option<Delta>,
    /// When it was at the server, if the idle path is as long up as down.
    pub turned: Option<Time>,
    /// It was overtaken by a later one on that way.
    pub reordered_up: bool,
    pub reordered_down: bool,
    /// Came more than once.
    pub duplicates: u32,
}

/// How well the server's clock is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clocks {
    /// Parts per million by which it gains on ours.
    pub drift_ppm: f64,
    /// One-way added delays are within that of the truth, if each direction was idle at some time.
    pub error: Delta,
    /// The least delays of both directions together.
    pub idle_rtt: Delta,
}

named! {
    /// How a probe went through.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum ProbeKind {
        /// On a connection of its own: waits where all do, not in the sockets of the load.
        Foreign = "foreign",
        /// On a load connection, among its data.
        SelfHttp = "self",
        /// An echo request of ICMP: the answer is the system's, and networks may treat it otherwise.
        Icmp = "icmp",
    }
}

/// One probe of HTTP or ICMP.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    pub kind: ProbeKind,
    pub sent: Time,
    /// The load connection that carried it.
    pub flow: Option<u16>,
    /// Of a foreign probe: until the connection stood. None with HTTP/3.
    pub tcp: Option<Delta>,
    /// Its first packet was sent again: that time is more TCP's clock than the path.
    pub tcp_resent: bool,
    /// And TLS on it (with HTTP/3: QUIC's handshake, both in one).
    pub tls: Option<Delta>,
    /// Round trips that this handshake takes.
    pub tls_round_trips: u8,
    /// From request to the end of its answer.
    pub answer: Option<Delta>,
    /// Why there is none.
    pub failure: Option<String>,
}

named! {
    /// Where bytes are counted.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Counter {
        /// What TCP of the receiving end got in order, by its kernel: TLS and HTTP framing are in it, which takes some 2 % where senders
        /// write little at a time.
        Received = "received",
        /// What this client's application read.
        ClientRead = "client_read",
        /// What the server's application read, by its account.
        ServerRead = "server_read",
        /// What the server's TCP acknowledged, TLS and HTTP framing included: stands in for goodput up.
        Acknowledged = "acknowledged",
        /// What arrived by the sender's kernel: acknowledged, SACKed behind holes, duplicates (DSACK).
        Sacked = "sacked",
        /// What arrived by the receiver's kernel: data segments times their mean size.
        Segments = "segments",
    }
}

/// Bytes of one flow up to a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    pub at: Time,
    pub flow: u16,
    pub direction: Direction,
    pub counter: Counter,
    pub bytes: Bytes,
}

/// What connections beside the load carried up to a time: probes, account, greetings. TLS and HTTP framing are in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beside {
    pub at: Time,
    pub bytes: Both<Bytes>,
}

/// What passed the interface towards the server, by the kernel's counters, of all programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    pub name: String,
    pub counts: Vec<Beside>,
}

/// Which end's kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    Client,
    Server,
}

impl Side {
    pub const fn name(self) -> &'static str {
        match self {
            Side::Client => "client",
            Side::Server => "server",
        }
    }
}

/// A kernel's account of a load connection at a time; sizes on the wire without headers, times since the connection began.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct KernelState {
    pub rtt: Option<Delta>,
    pub min_rtt: Option<Delta>,
    pub cwnd: Bytes,
    /// As the kernel computes it: without what was SACKed or is presumed lost, with what was retransmitted.
    pub in_flight: Bytes,
    /// Written and not yet sent.
    pub unsent: Bytes,
    pub acked: Bytes,
    /// Of what it sent, what arrived: in order, behind holes, and twice. None where its side does not tell.
    pub delivered: Option<Bytes>,
    pub received: Bytes,
    /// Segments with data that came to it, in any order. None where its side does not tell.
    pub segments_received: Option<u64>,
    pub retransmissions: u64,
    pub delivery_rate: Option<Rate>,
    pub busy: Option<Delta>,
    pub window_limited: Option<Delta>,
    pub buffer_limited: Option<Delta>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelSample {
    pub at: Time,
    pub side: Side,
    pub flow: u16,
    pub direction: Direction,
    pub state: KernelState,
}

impl Measured {
    /// The stage during which it was that time.
    pub fn stage_at(&self, at: Time) -> Option<usize> {
        let found = self.stages.iter();
        found
            .clone()
            .position(|stage| stage.begin <= at && at < stage.end)
    }
}
