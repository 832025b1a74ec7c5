//! Laws of the guest: its clock, its exactness, its price, and that nothing of it is left behind.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use unbloat_uml::{Guest, GuestError, Kernel, Scenario, Summary, matrix, referee};
use unbloat_units::{Delta, Rate};

/// 10 Mbit/s and 40 ms one way.
fn scenario(queue: &str, length: Delta) -> Scenario {
    let mut scenario = Scenario::new(Rate::mbps(10), Delta::ms(0), queue, length);
    scenario.return_delay_ns = 40_000_000;
    scenario
}

fn a_quiet_hour_costs_less_than_three_seconds() {
    let mut quiet = scenario("pfifo", Delta::secs(3600));
    quiet.sample_every_ns = 60_000_000_000;
    // The referee's program is built, so that only the guest is timed.
    unbloat_uml::referee_program().unwrap();
    let begin = Instant::now();
    let outcome = referee(&quiet).unwrap();
    assert!(
        begin.elapsed() < Duration::from_secs(3),
        "{:?}",
        begin.elapsed()
    );
    assert_eq!(outcome.queue.samples.len(), 61);
    assert_eq!(outcome.queue.arrived, 0);
}

fn a_ping_takes_delay_and_transmission_to_the_microsecond() {
    let mut idle = scenario("pfifo", Delta::secs(10));
    idle.ping_every_ns = Some(100_000_000);
    let outcome = referee(&idle).unwrap();
    assert_eq!(outcome.pings.len(), 100);
    // 84 bytes at 10 Mbit/s. The clock counts in 256 ns, and reading it takes as long.
    let exact = 40_000_000 + 67_200;
    for ping in &outcome.pings {
        assert!(ping.rtt_ns.abs_diff(exact) < 1500, "{ping:?}");
    }
}

fn cubic_over_a_long_fifo_gets_the_goodput_of_an_earlier_measurement() {
    let mut bulk = scenario("pfifo limit 1000", Delta::secs(8)).flow("cubic");
    bulk.framing_bytes = 14;
    let outcome = referee(&bulk).unwrap();
    // iperf3 in a guest of the same kernel with 100 ticks a second and an HTB that bursts.
    let measured = 9.46e6;
    let goodput = outcome.flows[0].goodput_bps;
    assert!((goodput / measured - 1.0).abs() < 0.01, "{goodput}");
    assert_eq!(outcome.queue.dropped, 0);
}

fn what_the_taps_saw_is_what_the_kernel_counts() {
    for queue in [
        "pfifo limit 60",
        "codel",
        "fq_codel",
        "pie",
        "cake",
        "fq flow_limit 60",
    ] {
        let two = scenario(queue, Delta::secs(10)).flow("cubic").flow("reno");
        let queue_outcome = referee(&two).unwrap().queue;
        let counters = &queue_outcome.counters;
        assert!(queue_outcome.dropped > 0, "{queue}");
        assert_eq!(queue_outcome.dropped, counters.dropped, "{queue}");
        let delivered = queue_outcome.arrived - queue_outcome.dropped;
        assert_eq!(delivered, counters.sent_packets, "{queue}");
    }
}

fn marks_are_those_that_the_kernel_counts() {
    for (queue, counter) in [
        ("codel ecn", "ecn_mark"),
        ("fq_codel", "ecn_mark"),
        ("pie ecn", "ecn_mark"),
    ] {
        let mut marked = scenario(queue, Delta::secs(10)).flow("cubic");
        marked.ecn = true;
        let outcome = referee(&marked).unwrap().queue;
        assert!(outcome.marked > 0, "{queue}");
        assert_eq!(outcome.marked, outcome.counters.own[counter], "{queue}");
    }
}

fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let mut drawn = scenario("pie", Delta::secs(10)).flow("cubic");
    drawn.list_packets = true;
    let run = |seed| {
        let outcome = referee(&Scenario {
            seed,
            ..drawn.clone()
        })
        .unwrap();
        (outcome.flows, outcome.queue, outcome.packets)
    };
    // Without assert_eq, which would print thousands of packets.
    let first = run(1);
    assert!(first == run(1), "two runs with seed 1 differ");
    assert!(first != run(2), "seeds make no difference");
}

fn committed_results_are_those_of_this_kernel() {
    for name in [
        "cubic-over-codel",
        "vegas-over-pfifo-100",
        "bbr-over-pfifo-100",
        "cubic-over-cake-ecn",
        "cubic-over-pie-seed-2",
        "cubic-over-red-ecn",
    ] {
        let committed = Summary::committed(name).unwrap();
        let (_, scenario) = matrix().into_iter().find(|(n, _)| n == name).unwrap();
        let now = Summary::of(&referee(&scenario).unwrap());
        if now.kernel == committed.kernel {
            assert!(
                now == committed,
                "{name}: make it anew, and say why it changed\n{now:?}\ncommitted: {committed:?}"
            );
        } else {
            // Another update of Debian's source: alike, but not to the packet.
            let ratio = now.goodput_bps() / committed.goodput_bps();
            assert!((ratio - 1.0).abs() < 0.02, "{name}: {ratio}");
        }
    }
}

fn a_guest_does_not_see_what_the_host_reads_of_its_files() {
    let mut one = scenario("pfifo limit 100", Delta::secs(60)).flow("vegas");
    one.sample_every_ns = 1_000_000_000;
    let undisturbed = referee(&one).unwrap();
    let (is_over, reads) = (AtomicBool::new(false), AtomicUsize::new(0));
    let disturbed = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for init in programs_of_guests() {
                    // Each read is later than the last change, so the host notes it.
                    let read = File::open(init).and_then(|mut file| file.read(&mut [0]));
                    reads.fetch_add(read.unwrap_or(0), Ordering::Relaxed);
                }
            }
        });
        let disturbed = referee(&one);
        is_over.store(true, Ordering::Relaxed);
        disturbed.unwrap()
    });
    assert!(reads.into_inner() > 0, "nothing was read");
    // Without assert_eq, which would print thousands of packets.
    assert!(
        undisturbed.queue == disturbed.queue && undisturbed.flows == disturbed.flows,
        "mean delay {} and {} ms",
        undisturbed.queue.delay.mean_ms,
        disturbed.queue.delay.mean_ms,
    );
}

/// The programs that this process's guests run, in their folders.
fn programs_of_guests() -> Vec<PathBuf> {
    let ours = format!("unbloat-uml-{}-", std::process::id());
    let entries = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&ours));
    ours.map(|entry| entry.path().join("root/init")).collect()
}

fn guests_have_the_same_memory() {
    // struct sysinfo of sysinfo(2): uptime, three loads, the memory.
    let (_folder, program) = static_program(
        r#"extern "C" { fn sysinfo(info: *mut [u64; 14]) -> i32; }
        fn main() {
            let mut info = [0; 14];
            assert_eq!(unsafe { sysinfo(&mut info) }, 0);
            std::fs::write("/out/memory", info[4].to_string()).unwrap();
            std::fs::write("/out/status", "ok").unwrap();
        }"#,
    );
    let guest = Guest::new(Kernel::ensure().unwrap()).memory_mib(256);
    let bytes = || {
        let finished = guest.run(&program, ("nothing", b"")).unwrap();
        let text = std::fs::read_to_string(finished.output().join("memory")).unwrap();
        text.parse::<u64>().unwrap()
    };
    let first = bytes();
    assert!((200 << 20..=256 << 20).contains(&first), "{first}");
    for _ in 0..3 {
        assert_eq!(bytes(), first);
    }
}

fn a_guest_that_does_not_end_is_killed_and_leaves_nothing() {
    let (_folder, spinner) = static_program("fn main() { loop { std::hint::spin_loop() } }");
    let guest = Guest::new(Kernel::ensure().unwrap()).limit(Duration::from_millis(500));
    let begin = Instant::now();
    let error = guest.run(&spinner, ("nothing", b"")).unwrap_err();
    assert!(matches!(error, GuestError::TimedOut { .. }), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(5));
    assert_eq!(processes_of(&spinner), 0);
}

/// How many processes have `program` as the guest's first one: those whose working folder's copy of it has
/// the same bytes.
fn processes_of(program: &Path) -> usize {
    let wanted = std::fs::read(program).unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let inits =
        processes.filter_map(|process| std::fs::read(process.path().join("cwd/root/init")).ok());
    inits.filter(|init| *init == wanted).count()
}

fn a_program_that_fails_says_why() {
    let guest = Guest::new(Kernel::ensure().unwrap());
    let (_folder, failing) =
        static_program(r#"fn main() { std::fs::write("/out/status", "no luck").unwrap(); }"#);
    let error = guest.run(&failing, ("nothing", b"")).unwrap_err();
    assert!(
        matches!(&error, GuestError::Inside { message } if message == "no luck"),
        "{error}"
    );
    let refused = referee(&scenario("pfifo", Delta::secs(1)).flow("nonesuch")).unwrap_err();
    assert!(
        refused.to_string().contains("flow 0 (nonesuch)"),
        "{refused}"
    );
}

/// A static executable of that source, in a folder that goes with the value.
fn static_program(source: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (code, program) = (
        folder.path().join("program.rs"),
        folder.path().join("program"),
    );
    std::fs::write(&code, source).unwrap();
    let status = Command::new("rustc")
        .args(["-C", "target-feature=+crt-static", "-o"])
        .args([&program, &code])
        .status();
    assert!(status.unwrap().success());
    (folder, program)
}

unbloat_testkit::main! {
    kernel() => [
        a_quiet_hour_costs_less_than_three_seconds,
        a_ping_takes_delay_and_transmission_to_the_microsecond,
        cubic_over_a_long_fifo_gets_the_goodput_of_an_earlier_measurement,
        what_the_taps_saw_is_what_the_kernel_counts,
        marks_are_those_that_the_kernel_counts,
        the_same_seed_gives_the_same_bytes_and_another_seed_others,
        committed_results_are_those_of_this_kernel,
        a_guest_does_not_see_what_the_host_reads_of_its_files,
        guests_have_the_same_memory,
        a_guest_that_does_not_end_is_killed_and_leaves_nothing,
        a_program_that_fails_says_why,
    ],
}
