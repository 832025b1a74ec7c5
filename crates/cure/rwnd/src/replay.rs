//! The laws in C beside those of `unbloat-tcp`: on the same courses, both offer the same at every step.

use crate::law::Params;
use fastrand::Rng;
use unbloat_tcp::receive_window::{Config, Rule, View, drwa, rledbat};
use unbloat_testkit::Library;
use unbloat_units::Delta;

const COURSES: u64 = 300;
const STEPS: u32 = 400;

/// `struct view` of bpf/law.h.
#[repr(C)]
#[derive(Default)]
struct Seen {
    now_us: u64,
    received: u64,
    read: u64,
    mss: u32,
    rtt_us: u32,
}

/// The laws as a library, in which undefined behaviour ends the process.
fn library() -> Library {
    let source = format!("{}/bpf/replay.c", env!("CARGO_MANIFEST_DIR"));
    let include = format!("-I{}", unbloat_bpf_build::INCLUDE);
    Library::build(&source, &[&include])
}

type Bytes = unsafe extern "C" fn() -> u64;
type Start = unsafe extern "C" fn(*mut u64, *const Params, u32);
type OnSegment = unsafe extern "C" fn(*mut u64, *const Params, *const Seen, u64, i32) -> u32;
type OnRead = unsafe extern "C" fn(*mut u64, *const Params, *const Seen) -> u32;

/// A law in C.
struct Foreign<'a> {
    library: &'a Library,
    params: Params,
    state: Vec<u64>,
}

impl Foreign<'_> {
    fn start<'a>(library: &'a Library, law: &Config, mss: u32) -> Foreign<'a> {
        let params = Params::of(law).expect("it is one of ours");
        // SAFETY: bpf/replay.c declares it so.
        let bytes = unsafe { library.get::<Bytes>("state_bytes") }.expect("state_bytes");
        // SAFETY: it has no conditions.
        let mut state = vec![0; unsafe { bytes() } as usize / 8];
        // SAFETY: bpf/replay.c declares it so.
        let begin = unsafe { library.get::<Start>("start") }.expect("start");
        // SAFETY: the state has that size, and all live.
        unsafe { begin(state.as_mut_ptr(), &raw const params, mss) };
        Foreign {
            library,
            params,
            state,
        }
    }

    fn on_segment(&mut self, view: &View, bytes: u32) -> u32 {
        // SAFETY: bpf/replay.c declares it so.
        let call = unsafe { self.library.get::<OnSegment>("on_segment") }.expect("on_segment");
        let (state, params) = (self.state.as_mut_ptr(), &raw const self.params);
        let is_loss = view.is_retransmission.into();
        // SAFETY: all live and have the sizes that are declared there.
        unsafe { call(state, params, &seen(view), bytes.into(), is_loss) }
    }

    fn on_read(&mut self, view: &View) -> u32 {
        // SAFETY: bpf/replay.c declares it so.
        let call = unsafe { self.library.get::<OnRead>("on_read") }.expect("on_read");
        let (state, params) = (self.state.as_mut_ptr(), &raw const self.params);
        // SAFETY: all live and have the sizes that are declared there.
        unsafe { call(state, params, &seen(view)) }
    }
}

fn seen(view: &View) -> Seen {
    Seen {
        now_us: view.now_us,
        received: view.received,
        read: view.read,
        mss: view.mss,
        rtt_us: view.rtt_us.unwrap_or(0),
    }
}

fn any_drwa(rng: &mut Rng) -> Config {
    Config::Drwa(drwa::Params {
        lambda_eighths: rng.u32(8..=64),
        lambda_unfilled_eighths: rng.u32(8..=64),
        alpha_eighths: rng.u32(0..=8),
        dip_every: *rng
            .choice([Delta::ZERO, Delta::secs(1), Delta::secs(10)].iter())
            .expect("some"),
        eager: rng.bool(),
        extra_segments: rng.u16(0..=40),
        ..drwa::Params::default()
    })
}

fn any_rledbat(rng: &mut Rng) -> Config {
    let mut params = rledbat::Params::default();
    params.control.target = Delta::ms(rng.i64(1..=200));
    params.control.slowdown = rng.bool();
    Config::RLedbat(params)
}

/// Segments, reads, queues that come and go, silences.
fn compare(library: &Library, law: &Config, rng: &mut Rng) {
    let mut view = View {
        now_us: rng.u64(1..1 << 40),
        mss: rng.u32(536..=9_000),
        ..View::default()
    };
    let base_us = rng.u32(1_000..=400_000);
    let mut pure = law.build();
    let mut foreign = Foreign::start(library, law, view.mss);
    // As the receiver of `unbloat-tcp` and the program both keep it for rLEDBAT.
    let mut rtt_us8 = 0;
    for step in 0..STEPS {
        let queue_us = rng.u32(0..=base_us * 4);
        view.now_us += match rng.u32(0..50) {
            0 => rng.u64(0..20_000_000),
            _ => rng.u64(0..u64::from(base_us)),
        };
        let bytes = rng.u32(1..=view.mss);
        view.rtt_us = rng.bool().then_some(base_us + queue_us);
        view.is_retransmission = rng.u32(0..40) == 0;
        view.received += u64::from(bytes);
        if let Some(rtt_us) = view.rtt_us {
            rtt_us8 = match rtt_us8 {
                0 => 8 * rtt_us,
                old => old - (old >> 3) + rtt_us,
            };
        }
        // The program takes the sample before it judges the round.
        let before = View {
            rtt_us8: view.rtt_us8,
            ..view
        };
        pure.on_segment(&before, bytes);
        view.rtt_us8 = rtt_us8;
        let found = foreign.on_segment(&view, bytes);
        assert_eq!(found, pure.window(), "step {step}, segment, {law:?}");
        view.rtt_us = None;
        if rng.u32(0..4) > 0 {
            view.read = view.received - rng.u64(0..=view.received - view.read);
            pure.on_read(&view);
            let found_by_read = foreign.on_read(&view);
            assert_eq!(found_by_read, pure.window(), "step {step}, read, {law:?}");
        }
    }
}

#[test]
fn laws_for_the_kernel_make_every_step_of_the_pure_ones() {
    let library = library();
    for seed in 0..COURSES {
        let mut rng = Rng::with_seed(seed);
        let drwa = any_drwa(&mut rng);
        compare(&library, &drwa, &mut rng);
        let rledbat = any_rledbat(&mut rng);
        compare(&library, &rledbat, &mut rng);
    }
}
