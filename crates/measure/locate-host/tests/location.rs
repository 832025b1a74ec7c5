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
use std::process::ExitCode;
use trial::{Direction, Holder, Judged, Trial};
use unbloat_uml::{Kernel, over_host};

fn main() -> ExitCode {
    over_host(inside);
    unbloat_testkit::run! {
        kernel() => [
            a_routers_queue_is_named_under_upload,
            a_routers_queue_is_named_under_download,
            the_own_queue_discipline_is_named,
            a_queue_below_the_own_device_is_not_taken_for_the_disciplines,
            with_a_peer_this_hosts_own_link_is_named_both_ways,
            with_a_peer_the_access_line_is_named_both_ways,
            with_a_peer_the_access_line_is_named_though_the_gateway_is_silent,
        ],
    }
}

/// A trial of those that the bench draws.
fn row(holder: Holder, direction: Direction) {
    let mut all = (0..).map(Trial::draw);
    let trial = all.find(|trial| (trial.holder, trial.direction) == (holder, direction));
    are_right(&Job::Row(trial.expect("cases come in turn")), 1);
}

fn lan(bottleneck: Bottleneck, is_gateway_silent: bool) {
    let lan = Lan {
        bottleneck,
        is_gateway_silent,
    };
    are_right(&Job::Lan(lan), 2);
}

fn are_right(job: &Job, loads: usize) {
    let kernel = Kernel::ensure().expect("there is a kernel");
    let (outcome, _) = outside(&kernel, job).expect("the trial runs");
    let all = vec![Judged::Right; loads];
    assert_eq!(outcome.judged, all, "{job:?} {outcome:?}");
}

fn a_routers_queue_is_named_under_upload() {
    row(Holder::Link(3), Direction::Up);
}

fn a_routers_queue_is_named_under_download() {
    row(Holder::Link(2), Direction::Down);
}

fn the_own_queue_discipline_is_named() {
    row(Holder::Qdisc, Direction::Up);
}

fn a_queue_below_the_own_device_is_not_taken_for_the_disciplines() {
    row(Holder::Below, Direction::Up);
}

fn with_a_peer_this_hosts_own_link_is_named_both_ways() {
    lan(Bottleneck::Own, false);
}

fn with_a_peer_the_access_line_is_named_both_ways() {
    lan(Bottleneck::Access, false);
}

fn with_a_peer_the_access_line_is_named_though_the_gateway_is_silent() {
    lan(Bottleneck::Access, true);
}
