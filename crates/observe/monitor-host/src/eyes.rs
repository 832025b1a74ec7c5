//! Capture and analysis, span by span.

use crate::layers::LayerEyes;
use std::cell::Cell;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;
use tracing::{debug, info};
use unbloat_analyze::{Alive, Control, PipelineError, Settings, Standing, run_live};
use unbloat_capture::{CaptureError, Interface, LiveOptions, LiveSource};
use unbloat_monitor::{Gather, Span};
use unbloat_os::clock::monotonic;
use unbloat_trace::{Network, Output, Params};
use unbloat_units::{Bytes, Delta, Time};
use unbloat_wire::ParserParams;

/// What to watch.
#[derive(Clone, Debug)]
pub struct Options {
    pub interface: String,
    /// Length of a span.
    pub span: Delta,
    /// A standing delay from this on is bufferbloat.
    pub threshold: Delta,
    /// Networks whose addresses are clients.
    pub client_nets: Vec<Network>,
    pub parser: ParserParams,
    /// Watch the layers of this host too.
    pub layers: bool,
    /// Flows held at once.
    pub max_flows: usize,
}

/// What was seen.
#[derive(Clone, Debug)]
pub enum Seen {
    Span(Box<Span>),
    /// Nothing for a while, and a chance to do something else.
    Idle,
    /// The interface is gone, or down.
    Lost(String),
    Back,
}

/// Why nothing can be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchFailure {
    #[error(transparent)]
    Capture(#[from] CaptureError),
    #[error("cannot get random numbers from the system: {0}")]
    Random(getrandom::Error),
}

/// Between two looks for the interface.
const LOOK: Duration = Duration::from_secs(1);
/// How often it is made sure that the interface is still the same.
const CHECK: Delta = Delta::secs(2);
/// An interface that works for so long is back.
const WORKS: Delta = Delta::secs(3);
/// Bytes of a packet: all headers of tunnels, and names in TLS and DNS.
const SNAP_LEN: u32 = 256;
/// The kernel's buffer.
const RING: Bytes = Bytes::mib(4);
/// How long a capture waits for packets: while nothing passes, this process wakes so often.
const WAIT: Delta = Delta::ms(500);

/// Watches until `stop`. `tell` gets what is seen, at least every second while the interface works.
///
/// # Errors
/// The interface cannot be captured at the start.
pub fn watch(
    options: &Options,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Seen),
) -> Result<(), WatchFailure> {
    let mut source = open(&options.interface)?;
    let mut layers = options
        .layers
        .then(|| LayerEyes::open(&options.interface, monotonic()))
        .flatten();
    let mut is_lost = false;
    while !stop.load(Ordering::Relaxed) {
        let index = Interface::named(&options.interface).map(|found| found.index);
        let over = match index {
            Ok(index) => once(
                options,
                index,
                &mut source,
                &mut layers,
                (stop, &mut is_lost),
                tell,
            )?,
            Err(error) => Some(error.to_string()),
        };
        let Some(why) = over else {
            break;
        };
        if !is_lost {
            is_lost = true;
            tell(Seen::Lost(why));
        }
        while !stop.load(Ordering::Relaxed) {
            sleep(LOOK);
            tell(Seen::Idle);
            match open(&options.interface) {
                Ok(opened) => {
                    source = opened;
                    break;
                }
                Err(error) => debug!(%error, "the interface is not back"),
            }
        }
    }
    Ok(())
}

fn open(interface: &str) -> Result<LiveSource, CaptureError> {
    let options = LiveOptions {
        snap_len: SNAP_LEN,
        promiscuous: false,
        timeout: WAIT,
        ring: RING,
    };
    LiveSource::open(interface, &options)
}

/// Watches until the interface is gone, and says why; `None` when told to stop.
fn once(
    options: &Options,
    index: u32,
    source: &mut LiveSource,
    layers: &mut Option<LayerEyes>,
    (stop, is_lost): (&AtomicBool, &mut bool),
    tell: &mut dyn FnMut(Seen),
) -> Result<Option<String>, WatchFailure> {
    let settings = Settings {
        params: Params {
            max_flows: options.max_flows,
            bloat_threshold: options.threshold,
            standing_of_all_flows: true,
            ..Params::default()
        },
        parser: options.parser.clone(),
        client_nets: options.client_nets.clone(),
        threads: 1,
        hash_seed: getrandom::u64().map_err(WatchFailure::Random)?,
        summary_only: true,
        reads: Some(Gather::reads()),
    };
    let begun = monotonic();
    let mut gather = Gather::new(options.threshold);
    let (mut began, mut checked) = (begun, begun);
    // What the monitor's clock said at the first packet.
    let origin = Cell::new(begun);
    let mut packets = 0;
    let mut lost = None;
    let mut sink = |output: &Output, standing: Standing, alive: Option<Alive<'_>>| {
        let now = monotonic();
        if standing.packets > packets {
            packets = standing.packets;
            origin.set((now - Delta::ns(standing.elapsed_ns)).bounded());
        }
        gather.take(output);
        if let Some(layers) = layers.as_mut() {
            layers.look(now);
        }
        let Some(alive) = alive else {
            return Ok::<Control, Infallible>(Control::Stop);
        };
        if standing.is_judged {
            let length = now.since(began).min(options.span + options.span);
            let at = |ns: i64| (origin.get() + Delta::ns(ns)).bounded();
            let process =
                |address: &str, port| layers.as_ref().and_then(|eyes| eyes.process(address, port));
            let mut span = gather.close((now, length), alive.health, at, process);
            span.layers = layers.as_mut().map_or(Vec::new(), LayerEyes::close);
            began = now;
            tell(Seen::Span(Box::new(span)));
            return Ok(Control::Continue);
        }
        if *is_lost && now.since(begun) > WORKS {
            *is_lost = false;
            info!(interface = options.interface, "the interface is back");
            tell(Seen::Back);
        }
        if now.since(checked) >= CHECK {
            checked = now;
            let found = Interface::named(&options.interface);
            if !found.as_ref().is_ok_and(|found| found.index == index) {
                lost = Some(match found {
                    Ok(_) => "another interface has its name".to_owned(),
                    Err(error) => error.to_string(),
                });
            }
        }
        tell(Seen::Idle);
        if stop.load(Ordering::Relaxed) || lost.is_some() {
            return Ok(Control::Stop);
        }
        Ok(match now.since(began) >= options.span {
            true => Control::Judge,
            false => Control::Continue,
        })
    };
    let ended = run_live(source, &settings, &mut sink);
    match ended {
        Ok(_) => {}
        Err(PipelineError::Capture(error)) => lost = Some(error.to_string()),
        Err(PipelineError::Sink(never)) => match never {},
    }
    // What was seen since the last span: the interface is gone, or the monitor stops.
    let now: Time = monotonic();
    let at = |ns: i64| (origin.get() + Delta::ns(ns)).bounded();
    let length = now.since(began).min(options.span + options.span);
    if length > Delta::secs(1) {
        let process =
            |address: &str, port| layers.as_ref().and_then(|eyes| eyes.process(address, port));
        let mut span = gather.close((now, length), &Default::default(), at, process);
        span.layers = layers.as_mut().map_or(Vec::new(), LayerEyes::close);
        tell(Seen::Span(Box::new(span)));
    }
    Ok(lost)
}
