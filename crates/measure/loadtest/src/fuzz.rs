//! For the fuzz targets: what a server answers, of any bytes.

use crate::account::{Account, Ours};
use crate::error::root;
use crate::findings::findings;
use crate::flow::Flows;
use crate::measured::{FlowRun, HostLoad, Measured, Server, StageRun};
use crate::ndt7;
use crate::options::Options;
use crate::plan::{Load, Stack};
pub use crate::service::{Service, Session};
use crate::target::Origin;
use crate::upload::Body;
use std::io;
use std::sync::Mutex;
use unbloat_os::clock::Clock;
use unbloat_responsiveness::Rule;
use unbloat_units::{Bytes, Delta, Direction, Time};

/// Flows of the test to whose account lines are added: the even ones go up, the odd ones down.
pub const FLOWS: u16 = 8;

/// What came of an account's lines.
pub struct Told {
    pub lines: usize,
    /// By the clock of this test.
    pub counts: usize,
    pub kernel: usize,
    /// Why it ended before its last line.
    pub failure: Option<String>,
    /// What a test with that account concludes, as it is shown.
    pub text: String,
}

/// Takes lines, each behind the hundredths of a second since the one before.
pub fn account<'a>(lines: impl Iterator<Item = (u8, &'a [u8])>) -> Told {
    let mut now = Time::from_ns(0);
    let mut account = Account::new(now);
    let ours: Ours<'_> = &|number| {
        let way = [Direction::Up, Direction::Down][usize::from(number % 2)];
        (number < FLOWS).then_some(way)
    };
    let (mut taken, mut failure) = (0, None);
    for (hundredths, line) in lines {
        now += Delta::ms(10 * i64::from(hundredths));
        if let Err(why) = account.take(line, now, ours) {
            failure = Some(root(&io::Error::other(why)));
            break;
        }
        taken += 1;
    }
    let (counts, kernel) = account.by_our_clock(Delta::ms(20));
    let sizes = (counts.len(), kernel.len());
    let measured = Measured {
        counts,
        kernel,
        ..measured(now)
    };
    let findings = findings(&measured, Rule::default());
    Told {
        lines: taken,
        counts: sizes.0,
        kernel: sizes.1,
        failure,
        text: crate::text(&measured, &findings, unbloat_text::Layout::default()),
    }
}

/// A test that loaded both ways until `end`, before its counts.
fn measured(end: Time) -> Measured {
    let options = Options::of("box".parse().expect("a name of a host"));
    let flow = |flow| FlowRun {
        flow,
        stage: 0,
        direction: [Direction::Up, Direction::Down][usize::from(flow % 2)],
        begin: Time::from_ns(0),
        ready: None,
        end,
        bytes: Bytes::new(1_000_000),
        congestion_control: None,
        failure: None,
    };
    Measured {
        options,
        begun_ns: 0,
        server: Server::default(),
        stages: vec![StageRun {
            load: Load::Both,
            stack: Stack::NetworkOnly,
            begin: Time::from_ns(0),
            end,
            is_cut: false,
            host: HostLoad::default(),
        }],
        flows: (0..FLOWS).map(flow).collect(),
        echoes: Vec::new(),
        paces: Vec::new(),
        clocks: None,
        probes: Vec::new(),
        counts: Vec::new(),
        beside: Vec::new(),
        interface: None,
        kernel: Vec::new(),
        apps: Vec::new(),
        limitations: Vec::new(),
        is_cut: false,
        gone: None,
    }
}

/// What is kept of a server of ndt7 that sends `sent` behind its handshake, and why the flow failed.
pub fn ndt7(sent: &[u8], direction: Direction) -> (ndt7::Notes, Option<String>) {
    let notes = Mutex::default();
    let clock = Clock::from(unbloat_os::clock::monotonic());
    let flow = Flows::default().begin(0, direction, Stack::AsIs, clock.now());
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let heard = ndt7::hear(io::Cursor::new(sent.to_vec()), &notes, &flow, clock);
    let ended = runtime.expect("threads are not needed").block_on(heard);
    let notes = notes.into_inner().unwrap_or_default();
    (notes, ended.err().map(|error| root(&error)))
}

/// The service that a description from `origin` names, or the error as users read it.
pub fn service(text: &[u8], origin: &Origin) -> Result<Service, String> {
    let options = Options::of("box".parse().expect("a name of a host"));
    let parsed = Service::parse(text, origin, &options);
    parsed.map_err(|why| root(&io::Error::other(why)))
}

/// Whether requests can be made of all that a service offers.
pub fn can_be_asked(service: &Service, origin: &Origin) -> bool {
    let flow = Flows::default().begin(0, Direction::Down, Stack::NetworkOnly, Time::from_ns(0));
    let paths = [&service.small, &service.upload, &service.load_path(&flow)];
    let ask = |path: &String| {
        let what = (hyper::Method::GET, &path[..]);
        crate::http::request(origin, what, None, Body::Empty)
    };
    paths.into_iter().all(|path| ask(path).is_ok())
}

/// The session that an answer gives.
pub fn session(text: &[u8]) -> Option<Session> {
    Session::read(text)
}

/// Of ndt7: bytes of a message, and how many measurements are kept.
pub const LONGEST_MESSAGE: usize = ndt7::LONGEST;
pub const MOST_NOTES: usize = ndt7::MOST_NOTES;
