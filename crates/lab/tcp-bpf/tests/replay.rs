//! The programs against the pure controls of `unbloat-tcp` and against Linux's own steps.
//!
//! Each control is led through courses of events twice over: as BPF in the kernel, compiled and
//! relocated as for use, which needs root, and as a shared library, where undefined behaviour traps. The sender that leads
//! is the one that the pure controls are tested with.

#[path = "replay/course.rs"]
mod course;
#[path = "replay/foreign.rs"]
mod foreign;
#[path = "replay/machine.rs"]
mod machine;
#[allow(
    dead_code,
    unused_imports,
    reason = "of the crate's own modules the replay needs some functions"
)]
#[path = "../src"]
mod own {
    pub mod bpf;
    pub mod btf;
    pub mod control;
    pub mod error;
    pub mod loaded;
    pub mod object;
}
#[path = "replay/pair.rs"]
mod pair;
#[path = "../../../model/tcp/tests/replay/mod.rs"]
mod sender;

use foreign::Foreign;
use machine::{InKernel, Library};
use own::control::Control;
use own::error::ControlError;
use own::{bpf, btf, error, loaded, object};
use pair::Pair;
use sender::replay;
use unbloat_tcp::congestion::{Config, Congestion, Flow};

/// A control under both names and its object.
#[derive(Clone, Copy)]
struct Names {
    control: &'static str,
    pure: &'static str,
    object: &'static [u8],
}

/// Where a control runs that is not the pure one.
type Place = fn(&Names) -> Foreign;

fn in_library(names: &Names) -> Foreign {
    Foreign::new(Library::build(names.control))
}

fn in_kernel(names: &Names) -> Foreign {
    match InKernel::load(names.control, names.object) {
        Ok(machine) => Foreign::new(machine),
        // Root of a container.
        Err(error @ (ControlError::Privilege | ControlError::NoBtf { .. })) => {
            unbloat_testkit::unmet(error)
        }
        Err(error) => panic!("{error}"),
    }
}

/// The pure control and the same elsewhere, in step.
fn pair(names: &Names, place: Place) -> Pair {
    let pure = Config::named(names.pure).expect("a known control").build();
    Pair::new(pure, place(names))
}

fn has_every_row_of_the_table(place: Place) {
    let mut control = pair(&highspeed::NAMES, place);
    let mut flow = Flow::new(1_448, 10, 250);
    control.init(&mut flow);
    flow.is_cwnd_limited = true;
    for cwnd in 2..100_000 {
        (flow.cwnd, flow.ssthresh, flow.cwnd_cnt) = (cwnd, 2, 0);
        control.avoid(&mut flow, 1);
        control.ssthresh(&mut flow);
    }
}

fn highspeed_has_every_row_of_the_table() {
    has_every_row_of_the_table(in_library);
}

fn highspeed_has_every_row_of_the_table_in_the_kernel() {
    has_every_row_of_the_table(in_kernel);
}

fn makes_every_step_of_linux(names: &Names, vectors: [&str; 3], place: Place) {
    for text in vectors {
        replay(names.pure, place(names), text);
    }
}

fn makes_every_step_of_the_pure_one(names: &Names, place: Place) {
    for number in 0..course::COURSES {
        course::lead(pair(names, place), number);
    }
}

macro_rules! controls {
    ($($control:ident = $pure:literal,)*) => {$(
        mod $control {
            use super::{Names, in_kernel, in_library};

            pub(super) const NAMES: Names = Names {
                control: stringify!($control),
                pure: $pure,
                object: include_bytes!(
                    concat!(env!("OUT_DIR"), "/", stringify!($control), ".replay.o")
                ),
            };

            const VECTORS: [&str; 3] = [
                include_str!(concat!("../../../model/tcp/vectors/", $pure, "-short.tsv")),
                include_str!(concat!("../../../model/tcp/vectors/", $pure, "-long.tsv")),
                include_str!(concat!("../../../model/tcp/vectors/", $pure, "-cycles.tsv")),
            ];

            pub(super) fn makes_every_step_of_linux() {
                super::makes_every_step_of_linux(&NAMES, VECTORS, in_library);
            }

            pub(super) fn makes_every_step_of_linux_in_the_kernel() {
                super::makes_every_step_of_linux(&NAMES, VECTORS, in_kernel);
            }

            pub(super) fn makes_every_step_of_the_pure_one_on_random_courses() {
                super::makes_every_step_of_the_pure_one(&NAMES, in_library);
            }

            pub(super) fn makes_every_step_of_the_pure_one_on_random_courses_in_the_kernel() {
                super::makes_every_step_of_the_pure_one(&NAMES, in_kernel);
            }
        }
    )*};
}

controls! {
    vegas = "vegas",
    bic = "bic",
    htcp = "htcp",
    highspeed = "hstcp",
    westwood = "westwood",
}

unbloat_testkit::main! {
    always() => [
        highspeed_has_every_row_of_the_table,
        vegas::makes_every_step_of_linux,
        vegas::makes_every_step_of_the_pure_one_on_random_courses,
        bic::makes_every_step_of_linux,
        bic::makes_every_step_of_the_pure_one_on_random_courses,
        htcp::makes_every_step_of_linux,
        htcp::makes_every_step_of_the_pure_one_on_random_courses,
        highspeed::makes_every_step_of_linux,
        highspeed::makes_every_step_of_the_pure_one_on_random_courses,
        westwood::makes_every_step_of_linux,
        westwood::makes_every_step_of_the_pure_one_on_random_courses,
    ],
    root("loading programs") => [
        highspeed_has_every_row_of_the_table_in_the_kernel,
        vegas::makes_every_step_of_linux_in_the_kernel,
        vegas::makes_every_step_of_the_pure_one_on_random_courses_in_the_kernel,
        bic::makes_every_step_of_linux_in_the_kernel,
        bic::makes_every_step_of_the_pure_one_on_random_courses_in_the_kernel,
        htcp::makes_every_step_of_linux_in_the_kernel,
        htcp::makes_every_step_of_the_pure_one_on_random_courses_in_the_kernel,
        highspeed::makes_every_step_of_linux_in_the_kernel,
        highspeed::makes_every_step_of_the_pure_one_on_random_courses_in_the_kernel,
        westwood::makes_every_step_of_linux_in_the_kernel,
        westwood::makes_every_step_of_the_pure_one_on_random_courses_in_the_kernel,
    ],
}
