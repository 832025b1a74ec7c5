//! A few trials of the bench, each in a kernel of its own in virtual time: what they come to depends on no
//! machine. This executable is also the guest's first process, so it has a `main` of its own.

#[path = "../examples/location/bed.rs"]
mod bed;
#[path = "../examples/location/inside.rs"]
mod inside;
#[path = "../examples/location/lan.rs"]
mod lan;
#[path = "../examples/location/modem.rs"]
mod modem;
#[path = "../examples/location/traffic.rs"]
mod traffic;
#[path = "../examples/location/trial.rs"]
mod trial;

use inside::{Job, inside, outside};
use lan::{Bottleneck, Lan};
use trial::{Direction, Holder, Judged, Trial};
use unbloat_uml::{GuestError, Kernel, over_host};

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
        ) => return unbloat_testkit::skip(&error.to_string()),
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
        (
            "a_queue_below_the_own_device_is_not_taken_for_the_disciplines",
            Holder::Below,
            Direction::Up,
        ),
    ] {
        let mut all = (0..).map(Trial::draw);
        let trial = all.find(|trial| (trial.holder, trial.direction) == (holder, direction));
        let trial = trial.expect("cases come in turn");
        are_right(&kernel, name, &Job::Row(trial.clone()), 1);
    }
    for (name, bottleneck, is_gateway_silent) in [
        (
            "with_a_peer_this_hosts_own_link_is_named_both_ways",
            Bottleneck::Own,
            false,
        ),
        (
            "with_a_peer_the_access_line_is_named_both_ways",
            Bottleneck::Access,
            false,
        ),
        (
            "with_a_peer_the_access_line_is_named_though_the_gateway_is_silent",
            Bottleneck::Access,
            true,
        ),
    ] {
        let lan = Lan {
            bottleneck,
            is_gateway_silent,
        };
        are_right(&kernel, name, &Job::Lan(lan), 2);
    }
}

fn are_right(kernel: &Kernel, name: &str, job: &Job, loads: usize) {
    let (outcome, _) = outside(kernel, job).expect(name);
    let all = vec![Judged::Right; loads];
    assert_eq!(outcome.judged, all, "{name}: {job:?} {outcome:?}");
    println!("test {name} ... ok");
}
