//! Shapers whose process is killed at random moments. Needs root.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use unbloat_netns::{Bed, Host};
use unbloat_sqm::{Plan, Qdisc};
use unbloat_sqm_host::apply;
use unbloat_undo::Journals;
use unbloat_units::{Both, Framing, Rate};

/// Each takes a third of a second; `UNBLOAT_KILLS` asks for more.
const CYCLES: u64 = 20;
const KILLS: &str = "UNBLOAT_KILLS";
/// Says to a copy of this test what it is to be, and where its journals are.
const VICTIM: &str = "UNBLOAT_SHAPER_TEST_VICTIM";
const READY: &str = "ready";

fn state() -> String {
    let said = |program: &str, words: &str| {
        let output = Command::new(program)
            .args(words.split(' '))
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let links = said("ip", "-o link");
    let names: Vec<&str> = links.lines().filter_map(|l| l.split(": ").nth(1)).collect();
    format!(
        "{names:?}{}{}",
        said("tc", "qdisc"),
        said("tc", "class show dev eth0")
    )
}

fn start_victim(host: &Host, folder: &Path) -> Child {
    let mut command = host.command(std::env::current_exe().unwrap()).unwrap();
    command.args(["--exact", "victim", "--ignored", "--nocapture"]);
    command.env(VICTIM, folder).stdout(Stdio::null());
    command.spawn().unwrap()
}

/// How long a victim takes until it shapes.
fn time_to_shape(host: &Host, folder: &Path) -> Duration {
    let begin = Instant::now();
    let mut victim = start_victim(host, folder);
    while !folder.join(READY).exists() {
        sleep(Duration::from_millis(1));
    }
    let took = begin.elapsed();
    victim.kill().unwrap();
    victim.wait().unwrap();
    took
}

fn what_killed_shapers_leave_is_undone_at_the_next_start() {
    let bed = Bed::new().unwrap();
    let hosts = [bed.host("client").unwrap(), bed.host("server").unwrap()];
    hosts[0].veth("eth0", &hosts[1], "eth0").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let tune = || {
        let mut tbf = Command::new("tc");
        let words = "qdisc replace dev eth0 root handle 7: tbf rate 50mbit burst 16kb limit 100kb";
        assert!(tbf.args(words.split(' ')).status().unwrap().success());
        state()
    };
    let before = hosts[0].within(tune).unwrap();
    let longest = time_to_shape(&hosts[0], folder.path());
    let cycles = std::env::var(KILLS).map_or(CYCLES, |text| text.parse().unwrap());
    let mut moments = 0x9e37_79b9_7f4a_7c15_u64;
    let mut changed = 0;
    for cycle in 0..cycles {
        let mut victim = start_victim(&hosts[0], folder.path());
        moments = moments
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        sleep(longest.mul_f64((moments >> 40) as f64 / (1u64 << 24) as f64 * 1.2));
        victim.kill().unwrap();
        victim.wait().unwrap();
        hosts[0]
            .within(|| {
                changed += u64::from(state() != before);
                let journals = Journals::at(folder.path().to_owned()).unwrap();
                for left in journals.recover().unwrap() {
                    left.undone.unwrap();
                }
                assert_eq!(state(), before, "cycle {cycle}");
            })
            .unwrap();
    }
    println!("{changed} of {cycles} left something");
    assert!(changed > 0, "all were killed too early");
    let mut left = fs::read_dir(folder.path()).unwrap().flatten();
    assert!(left.all(|file| file.file_name() == READY));
}

fn victim() {
    let Some(folder) = std::env::var_os(VICTIM) else {
        return;
    };
    let folder = std::path::PathBuf::from(folder);
    let rates = Both::new(Some(Rate::mbps(19)), Some(Rate::mbps(4)));
    let plan = Plan::new("eth0".parse().unwrap(), rates, Framing::ATM, Qdisc::Fifo).unwrap();
    let journals = Journals::at(folder.clone()).unwrap();
    let _held = apply(&journals, &plan, "a test").unwrap();
    fs::write(folder.join(READY), "").unwrap();
    sleep(Duration::from_secs(60));
}

unbloat_testkit::main! {
    root("a shaper") => [
        what_killed_shapers_leave_is_undone_at_the_next_start,
    ],
    on_request() => [
        victim,
    ],
}
