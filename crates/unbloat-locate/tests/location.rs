//! A few trials of the bench, each in a kernel of its own in virtual time: what they come to depends on no
//! machine. This executable is also the guest's first process, so it has a `main` of its own.

#[path = "../examples/location/bed.rs"]
mod bed;
#[path = "../examples/location/inside.rs"]
mod inside;
#[path = "../examples/location/modem.rs"]
mod modem;
#[path = "../examples/location/traffic.rs"]
mod traffic;
#[path = "../examples/location/trial.rs"]
mod trial;

use inside::{inside, outside};
use trial::{Direction, Holder, Judged, Trial};
use unbloat_guest::{GuestError, Kernel, over_host};

fn main() {
    over_host(inside);
    if std::env::args().any(|argument| argument == "--list") {
        return;
    }
    let kernel = match Kernel::ensure() {
        Ok(kernel) => kernel,
        // Only what an ordinary user lacks is a reason to skip.
        Err(
            error @ (GuestError::Missing { .. }
            | GuestError::NoSource { .. }
            | GuestError::Architecture { .. }),
        ) => return eprintln!("skipped 3 tests: {error}"),
        Err(error) => panic!("{error}"),
    };
    for (name, holder, direction) in [
        (
            "a_routers_queue_is_named_under_upload",
            Holder::Link(3),
            Direction::Up,
        ),
        (
            "a_routers_queue_is_named_under_download",
            Holder::Link(2),
            Direction::Down,
        ),
        (
            "the_own_queue_discipline_is_named",
            Holder::Qdisc,
            Direction::Up,
        ),
    ] {
        let mut all = (0..).map(Trial::draw);
        let trial = all.find(|trial| (trial.holder, trial.direction) == (holder, direction));
        let trial = trial.expect("cases come in turn");
        let (outcome, _) = outside(&kernel, &trial).expect(name);
        assert_eq!(
            outcome.judged,
            Judged::Right,
            "{name}: {trial:?} {outcome:?}"
        );
        println!("test {name} ... ok");
    }
}
