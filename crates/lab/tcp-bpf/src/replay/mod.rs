//! The programs against the pure controls of `unbloat-tcp` and against Linux's own steps.
//!
//! Each control is led through courses of events twice over: as BPF in the kernel, compiled and
//! relocated as for use, and as a shared library, where undefined behaviour traps. The sender that leads
//! is the one that the pure controls are tested with.

mod course;
mod foreign;
mod machine;
mod pair;
#[path = "../../../../model/tcp/tests/replay/mod.rs"]
mod sender;

use crate::ControlError;
use foreign::Foreign;
use machine::{InKernel, Library};
use pair::Pair;
use sender::replay;
use unbloat_tcp::congestion::{Config, Congestion, Flow};

/// Skips where programs may not be loaded, and says so.
fn kernel_machine(control: &'static str) -> Option<InKernel> {
    match InKernel::load(control) {
        Ok(machine) => Some(machine),
        Err(error @ (ControlError::Privilege | ControlError::NoBtf { .. })) => {
            unbloat_testkit::skip(&error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn replay_vectors(control: &'static str, pure: &str, text: &str) {
    replay(pure, Foreign::new(Library::build(control)), text);
    if let Some(machine) = kernel_machine(control) {
        replay(pure, Foreign::new(machine), text);
    }
}

/// Runs `check` on the pure control and the same elsewhere, in step.
fn compare_with_pure(control: &'static str, pure: &str, check: impl Fn(Pair)) {
    let pure = || Config::named(pure).expect("a known control").build();
    let library = Foreign::new(Library::build(control));
    check(Pair::new(pure(), library));
    if let Some(machine) = kernel_machine(control) {
        check(Pair::new(pure(), Foreign::new(machine)));
    }
}

#[test]
fn highspeed_has_every_row_of_the_table() {
    compare_with_pure("highspeed", "hstcp", |mut control| {
        let mut flow = Flow::new(1_448, 10, 250);
        control.init(&mut flow);
        flow.is_cwnd_limited = true;
        for cwnd in 2..100_000 {
            (flow.cwnd, flow.ssthresh, flow.cwnd_cnt) = (cwnd, 2, 0);
            control.avoid(&mut flow, 1);
            control.ssthresh(&mut flow);
        }
    });
}

macro_rules! controls {
    ($($control:ident = $pure:literal,)*) => {$(
        mod $control {
            use super::course;

            const NAME: &str = stringify!($control);

            #[test]
            fn makes_every_step_of_linux() {
                let check = |text| super::replay_vectors(NAME, $pure, text);
                check(include_str!(concat!("../../../../model/tcp/vectors/", $pure, "-short.tsv")));
                check(include_str!(concat!("../../../../model/tcp/vectors/", $pure, "-long.tsv")));
                check(include_str!(concat!("../../../../model/tcp/vectors/", $pure, "-cycles.tsv")));
            }

            #[test]
            fn makes_every_step_of_the_pure_one_on_random_courses() {
                for number in 0..course::COURSES {
                    super::compare_with_pure(NAME, $pure, |control| course::lead(control, number));
                }
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
