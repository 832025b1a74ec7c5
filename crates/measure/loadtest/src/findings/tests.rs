//! Findings of tests that never ran, in virtual time.

use super::*;
use crate::measured::{
    Beside, Clocks, Count, Echo, Fate, FlowRun, Gone, HostLoad, Probe, ProbeKind, Server,
};
use crate::options::Options;
use unbloat_responsiveness::Leaving;
use unbloat_units::{Both, Bytes};

fn at_ms(ms: i64) -> Time {
    Time::from_ns(ms * 1_000_000)
}

fn stage(load: Load, begin_ms: i64, end_ms: i64) -> StageRun {
    StageRun {
        load,
        stack: Stack::NetworkOnly,
        begin: at_ms(begin_ms),
        end: at_ms(end_ms),
        is_cut: false,
        host: HostLoad::default(),
    }
}

fn echo(seq: u64, down_ms: i64, up_ms: i64) -> Echo {
    Echo {
        seq,
        sent: at_ms(seq as i64 * 10),
        fate: Fate::Back,
        rtt: Some(Delta::ms(20 + down_ms + up_ms)),
        added_up: Some(Delta::ms(up_ms)),
        added_down: Some(Delta::ms(down_ms)),
        turned: Some(at_ms(seq as i64 * 10)),
        reordered_up: false,
        reordered_down: false,
        duplicates: 0,
    }
}

fn probe(kind: ProbeKind, at: Time, ms: i64) -> Probe {
    let is_foreign = kind == ProbeKind::Foreign;
    Probe {
        kind,
        sent: at,
        flow: None,
        tcp: is_foreign.then(|| Delta::ms(ms)),
        tls: is_foreign.then(|| Delta::ms(ms)),
        tcp_resent: false,
        tls_round_trips: 1,
        answer: Some(Delta::ms(ms)),
        failure: None,
    }
}

/// Idle 3 s, then 10 s of download at 48 Mbit/s that adds 160 ms, own probes of 400 ms.
pub(crate) fn downloaded() -> Measured {
    let mut options = Options::of("box".parse().unwrap());
    options.plan.interval = Delta::secs(1);
    let idle = (0..300).map(|seq| echo(seq, 0, 0));
    let loaded = (300..1300).map(|seq| echo(seq, 160, 0));
    let quiet = (0..30).map(|i| probe(ProbeKind::Foreign, at_ms(i * 100), 20));
    let busy = (0..100).flat_map(|i| {
        let at = at_ms(3_000 + i * 100);
        [
            probe(ProbeKind::Foreign, at, 180),
            probe(ProbeKind::SelfHttp, at, 400),
        ]
    });
    let counts = (0..=200).map(|i| Count {
        at: at_ms(3_000 + i * 50),
        flow: 0,
        direction: Direction::Down,
        counter: Counter::ClientRead,
        bytes: Rate::mbps(48) * Delta::ms(i * 50),
    });
    Measured {
        options,
        begun_ns: 0,
        server: Server {
            echo: Some("127.0.0.1:1".parse().unwrap()),
            echo_has_stamps: true,
            ..Server::default()
        },
        stages: vec![
            stage(Load::Idle, 0, 3_000),
            stage(Load::Down, 3_000, 13_000),
        ],
        flows: vec![FlowRun {
            flow: 0,
            stage: 1,
            direction: Direction::Down,
            begin: at_ms(3_000),
            ready: None,
            end: at_ms(13_000),
            bytes: Bytes::new(60_000_000),
            congestion_control: None,
            failure: None,
        }],
        echoes: idle.chain(loaded).collect(),
        paces: vec![(at_ms(0), Delta::ms(10))],
        clocks: Some(Clocks {
            drift_ppm: 0.0,
            error: Delta::us(20),
            idle_rtt: Delta::ms(20),
        }),
        probes: quiet.chain(busy).collect(),
        counts: counts.collect(),
        beside: Vec::new(),
        interface: None,
        kernel: Vec::new(),
        apps: Vec::new(),
        limitations: Vec::new(),
        is_cut: false,
        gone: None,
    }
}

#[test]
fn what_probes_carry_belongs_to_what_the_path_carried() {
    let mut measured = downloaded();
    let beside = (0..=260).map(|i| Beside {
        at: at_ms(i * 50),
        bytes: Both::new(Rate::mbps(1) * Delta::ms(i * 50), Bytes::ZERO),
    });
    measured.beside = beside.collect();
    let found = findings(&measured, Rule::DslReports);
    let down = found.of(Direction::Down).unwrap();
    assert_eq!(down.goodput, Both::new(Some(Rate::mbps(49)), None));
}

/// Others keep 166 ms of the way down filled until 12 s, our load or not.
fn loaded_by_others() -> Measured {
    let mut measured = downloaded();
    for echo in &mut measured.echoes {
        let waited = if echo.seq < 1200 {
            Delta::ms(166)
        } else {
            Delta::ZERO
        };
        echo.added_down = Some(waited);
        echo.rtt = Some(Delta::ms(30) + waited);
    }
    measured
}

#[test]
fn a_path_that_others_load_is_told_and_compared_with_its_floor() {
    let found = findings(&loaded_by_others(), Rule::DslReports);
    let loaded = Distrust::IdleLoaded {
        direction: Some(Direction::Down),
        standing: Delta::ms(166),
    };
    assert!(found.distrust.contains(&loaded), "{:?}", found.distrust);
    let down = found.of(Direction::Down).unwrap();
    let added = down.added.map(|one| one.expect("it was measured"));
    assert_eq!(added.down.p50.value, Delta::ms(166));
    assert_eq!(added.up.p50.value, Delta::ZERO);
    assert_eq!(down.added_rtt.unwrap().p50.value, Delta::ms(166));
    assert_eq!(found.idle.base_rtt, Some(Delta::ms(30)));
    assert_eq!(found.idle.rtt.unwrap()[0], Delta::ms(196));
    assert_eq!(down.view.udp, Some(Delta::ms(166)));
    assert_ne!(found.verdict.grade.as_deref(), Some("A"));
}

#[test]
fn an_idle_path_is_compared_with_its_median() {
    let found = findings(&downloaded(), Rule::DslReports);
    assert_eq!(found.idle.standing, Standing::default());
    assert_eq!(found.idle.base_rtt, Some(Delta::ms(20)));
}

#[test]
fn a_full_queue_down_is_found_down_and_not_up() {
    let found = findings(&downloaded(), Rule::DslReports);
    let down = found.of(Direction::Down).unwrap();
    let added = down.added.map(|one| one.expect("it was measured"));
    assert_eq!(added.down.p50.value, Delta::ms(160));
    assert_eq!(added.up.p99.value, Delta::ZERO);
    assert_eq!(down.added_rtt.unwrap().p95.value, Delta::ms(160));
    assert_eq!(found.idle.rtt.unwrap()[0], Delta::ms(20));
    assert_eq!(down.goodput.down, Some(Rate::mbps(48)));
    assert_eq!(down.goodput.up, None);
}

#[test]
fn responsiveness_is_the_draft_s_with_the_older_number_beside_it() {
    let found = findings(&downloaded(), Rule::Draft09);
    let down = found.of(Direction::Down).unwrap();
    // 60000/180 and 60000/400, their mean; and 60000 over the mean of 180 and 400.
    assert_eq!(down.rpm.unwrap().as_f64().round(), 242.0);
    assert_eq!(down.rpm_legacy.unwrap().as_f64().round(), 207.0);
    assert_eq!(found.confidence(), Some(Confidence::High));
}

#[test]
fn what_waits_in_sockets_is_told_apart_from_the_network() {
    let of_one_direction = |measured: &Measured| {
        let [(Direction::Down, split)] = findings(measured, Rule::DslReports).splits[..] else {
            panic!("one direction was loaded alone");
        };
        split
    };
    let limited = of_one_direction(&downloaded());
    assert_eq!(limited.shared.delay, Delta::ms(160));
    assert_eq!(limited.sockets, None);
    // 400 ms less the 20 of an idle request, less what all wait.
    assert_eq!(limited.same_connection.unwrap().delay, Delta::ms(220));

    let as_it_is = of_one_direction(&with_sockets_as_they_are());
    assert_eq!(as_it_is.sockets.unwrap().delay, Delta::ms(220));
    assert_eq!(as_it_is.same_connection, None);
}

fn with_sockets_as_they_are() -> Measured {
    let mut measured = downloaded();
    measured.stages[1].stack = Stack::AsIs;
    measured
}

#[test]
fn senders_of_quic_are_not_told_of_tcp_s_options() {
    let mut measured = with_sockets_as_they_are();
    let is_told = |seen: &Measured| {
        let found = findings(seen, Rule::DslReports);
        let mut cures = found
            .verdict
            .advice
            .iter()
            .map(|advice| advice.text.clone());
        cures.any(|cure| cure.contains("TCP_NOTSENT_LOWAT"))
    };
    assert!(is_told(&measured));
    measured.server.http = Some(Http::Three);
    assert!(!is_told(&measured));
    assert!(
        !findings(&measured, Rule::DslReports)
            .verdict
            .advice
            .is_empty()
    );
}

#[test]
fn judged_is_only_what_comes_after_the_ramp() {
    let mut measured = downloaded();
    // Nothing moves in the first four seconds.
    for count in &mut measured.counts {
        let moved = count.at.since(at_ms(7_000)).max(Delta::ZERO);
        count.bytes = Rate::mbps(48) * moved;
    }
    let found = findings(&measured, Rule::DslReports);
    let down = found.of(Direction::Down).unwrap();
    assert_eq!(down.from, at_ms(7_000));
    assert_eq!(down.goodput.down, Some(Rate::mbps(48)));
}

#[test]
fn failed_flows_and_a_stopped_test_are_reasons_for_distrust() {
    let mut measured = downloaded();
    measured.flows[0].failure = Some("reset".to_owned());
    measured.flows[0].end = at_ms(9_000);
    measured.is_cut = true;
    let found = findings(&measured, Rule::DslReports);
    assert!(found.distrust.contains(&Distrust::Cut { is_all: false }));
    let failed = Distrust::FlowsFailed {
        direction: Direction::Down,
        failed: 1,
        of: 1,
    };
    assert!(found.distrust.contains(&failed), "{:?}", found.distrust);
}

#[test]
fn a_server_that_goes_away_takes_only_the_stage_that_it_cut() {
    let mut measured = downloaded();
    measured.stages.push(StageRun {
        is_cut: true,
        ..stage(Load::Up, 13_500, 14_500)
    });
    measured.flows.push(FlowRun {
        flow: 1,
        stage: 2,
        direction: Direction::Up,
        end: at_ms(14_510),
        failure: Some("reset".to_owned()),
        ..measured.flows[0].clone()
    });
    measured.gone = Some(Gone {
        at: at_ms(14_500),
        how: Leaving::Refused,
    });
    let found = findings(&measured, Rule::DslReports);
    let [gone] = found.distrust[..] else {
        panic!("{:?}", found.distrust)
    };
    assert!(!gone.is_fatal());
    assert!(gone.to_string().contains("14.5 s"), "{gone}");
    assert_eq!(found.loads.len(), 1);
    assert!(found.verdict.grade.is_some());
    measured.stages.truncate(1);
    let nothing = findings(&measured, Rule::DslReports).verdict;
    assert!(nothing.grade.is_none());
    let headline = nothing.headline;
    assert!(headline.contains("the server"), "{headline}");
}

#[test]
fn nothing_measured_is_nothing_found() {
    let mut measured = downloaded();
    measured.stages.clear();
    measured.echoes.clear();
    let found = findings(&measured, Rule::DslReports);
    assert!(found.loads.is_empty() && found.marks.is_empty());
    assert!(found.idle.rtt.is_none());
}

#[test]
fn a_run_that_tells_nothing_has_no_grade_by_any_rule() {
    let mut measured = downloaded();
    for rule in [Rule::Worst, Rule::Draft09] {
        assert!(!findings(&measured, rule).marks.is_empty(), "{rule:?}");
    }
    measured.echoes.truncate(350);
    for rule in Rule::ALL {
        let found = findings(&measured, rule);
        assert!(found.distrust[0].is_fatal(), "{:?}", found.distrust);
        assert!(
            found.marks.is_empty() && found.verdict.grade.is_none(),
            "{rule:?}"
        );
        assert!(
            found.verdict.headline.starts_with("No verdict"),
            "{}",
            found.verdict.headline
        );
    }
}

#[test]
fn what_is_unknown_for_half_of_a_stage_has_no_grade_and_late_sends_are_no_fault() {
    let mut measured = downloaded();
    for stage in &mut measured.stages {
        stage.host.busy = Some(1.0);
        (stage.host.late_sends, stage.host.sends) = (80, 100);
    }
    let busy = findings(&measured, Rule::DslReports);
    assert_eq!(busy.distrust, [Distrust::CpuBusy { busy: 1.0 }]);
    assert!(busy.verdict.grade.is_some());
    // Nothing is known of the second half of the download; what was lost on a known way is known.
    for echo in &mut measured.echoes[600..1290] {
        let fate = if echo.seq < 800 {
            Fate::LostDown
        } else {
            Fate::Lost
        };
        (echo.fate, echo.rtt) = (fate, None);
    }
    let found = findings(&measured, Rule::DslReports);
    let coverage = found.of(Direction::Down).unwrap().coverage.unwrap();
    assert!((0.28..0.32).contains(&coverage), "{coverage}");
    assert!(found.distrust[0].is_fatal(), "{:?}", found.distrust);
    assert!(found.verdict.grade.is_none() && found.marks.is_empty());
    // Nobody got to send in it.
    measured
        .echoes
        .retain(|echo| echo.seq < 800 || echo.seq >= 1290);
    let silent = findings(&measured, Rule::DslReports);
    assert!(silent.distrust[0].is_fatal(), "{:?}", silent.distrust);
    assert!(
        silent.distrust[0]
            .to_string()
            .contains("sent nothing for 4.9 s")
    );
}

#[test]
fn a_program_that_answers_late_beside_a_prompt_kernel_is_the_servers_fault() {
    let mut measured = downloaded();
    let kernel = |i: i64, ms| {
        [
            probe(ProbeKind::Icmp, at_ms(i * 50), ms),
            Probe {
                tcp: Some(Delta::ms(ms)),
                ..probe(ProbeKind::Foreign, at_ms(i * 50), 900)
            },
        ]
    };
    measured.probes = (0..260).flat_map(|i| kernel(i, 20)).collect();
    for echo in &mut measured.echoes[300..] {
        echo.rtt = Some(Delta::ms(900));
    }
    let found = findings(&measured, Rule::DslReports);
    assert!(
        matches!(found.causes[..], [Cause::SlowServer { .. }]),
        "{:?}",
        found.causes
    );
    assert!(
        found.verdict.headline.contains("the server is slow"),
        "{}",
        found.verdict.headline
    );
    assert!(found.verdict.grade.is_none());
}

#[test]
fn a_download_is_not_blamed_for_the_upload_of_another_host() {
    let mut measured = downloaded();
    // Others keep 200 ms of the way up filled, but for moments at the end; the download adds 40 ms of its own.
    for echo in &mut measured.echoes {
        let up = if echo.seq < 1_250 { 200 } else { 0 };
        let down = if echo.seq >= 300 { 40 } else { 0 };
        (echo.added_up, echo.added_down) = (Some(Delta::ms(up)), Some(Delta::ms(down)));
        echo.rtt = Some(Delta::ms(30 + up + down));
    }
    let found = findings(&measured, Rule::DslReports);
    let [down] = &found.verdict.directions[..] else {
        panic!("one direction was loaded");
    };
    assert_eq!(down.added, Delta::ms(40));
    assert_eq!(found.verdict.grade.as_deref(), Some("B"));
    assert!(
        found.verdict.headline.contains("Downloads add 40 ms"),
        "{}",
        found.verdict.headline
    );
    // Where nothing stood before, what a download does to the way back is of its making.
    for echo in &mut measured.echoes[..300] {
        (echo.added_up, echo.rtt) = (Some(Delta::ZERO), Some(Delta::ms(30)));
    }
    let alone = findings(&measured, Rule::DslReports);
    assert!(alone.verdict.directions[0].added > Delta::ms(220));
}

#[test]
fn datagrams_at_any_interval_that_can_be_asked_for_give_a_verdict() {
    for every in [1, 2, 5, 10, 20, 100] {
        let mut measured = downloaded();
        measured.paces = vec![(at_ms(0), Delta::ms(10 * every as i64))];
        measured.echoes.retain(|echo| echo.seq % every == 0);
        let found = findings(&measured, Rule::DslReports);
        assert_eq!(
            found.verdict.grade.as_deref(),
            Some("C"),
            "{every}: {:?}",
            found.distrust
        );
        assert!(found.idle.coverage.unwrap() > 0.9, "{every}");
    }
}

/// The sample without datagrams, with a ping every 100 ms: both kinds of answers of the kernel wait in the queue, and requests for the server, too.
fn without_datagrams(ping_ms: i64, handshake_ms: i64, request_ms: i64) -> Measured {
    let mut measured = downloaded();
    (measured.echoes, measured.clocks) = (Vec::new(), None);
    measured.server.echo = None;
    for probe in &mut measured.probes {
        if probe.sent >= at_ms(3_000) && probe.kind == ProbeKind::Foreign {
            probe.tcp = Some(Delta::ms(handshake_ms));
            probe.answer = Some(Delta::ms(request_ms));
        }
    }
    let pings = (0..130).map(|i| {
        let ms = if i < 30 { 20 } else { ping_ms };
        probe(ProbeKind::Icmp, at_ms(i * 100), ms)
    });
    measured.probes.extend(pings);
    measured
        .probes
        .sort_by_key(|probe| (probe.sent, probe.kind));
    measured
}

#[test]
fn without_datagrams_delay_is_what_two_kinds_of_probes_agree_on() {
    for (said, added, odd) in [
        ([180, 184, 600], Some(160), "the server is slow"),
        ([22, 21, 600], Some(2), "the server is slow"),
        ([180, 22, 23], Some(2), "treats ICMP differently"),
        ([22, 180, 600], None, "do not agree"),
    ] {
        let [ping, handshake, request] = said;
        let found = findings(
            &without_datagrams(ping, handshake, request),
            Rule::DslReports,
        );
        let doubts = format!("{:?}", found.verdict.doubts);
        assert!(doubts.contains(odd), "{said:?} {doubts}");
        let down = found.of(Direction::Down).unwrap();
        let mean = down.added_rtt.map(|of| of.mean.value);
        assert_eq!(mean, added.map(Delta::ms), "{said:?}");
        assert_eq!(found.verdict.grade.is_some(), added.is_some(), "{said:?}");
        assert!(down.confidence <= Confidence::Medium && down.view.udp.is_none());
    }
}

#[test]
fn a_handshake_whose_first_packet_was_lost_tells_nothing_of_the_queue() {
    let mut measured = without_datagrams(0, 180, 180);
    measured
        .probes
        .retain(|probe| probe.kind == ProbeKind::Foreign);
    for probe in measured.probes.iter_mut().skip(40).step_by(10) {
        (probe.tcp, probe.tcp_resent) = (Some(Delta::ms(1_180)), true);
    }
    let found = findings(&measured, Rule::DslReports);
    let down = found.of(Direction::Down).unwrap();
    let added = down.added_rtt.unwrap();
    assert_eq!((added.max, down.account.lost), (Delta::ms(160), 7));
}

/// Radio: 32 and 64 Mbit/s by turns, half a second each.
#[test]
fn a_rate_that_changes_while_a_queue_stands_is_the_lines_though_seconds_are_alike() {
    let mut measured = downloaded();
    for count in &mut measured.counts {
        let passed = count.at.since(at_ms(3_000));
        let (whole, rest) = (
            passed.as_ns() / 1_000_000_000,
            passed.as_ns() % 1_000_000_000,
        );
        let slow = Delta::ns(rest.min(500_000_000));
        let fast = Delta::ns((rest - 500_000_000).max(0));
        count.bytes =
            Rate::mbps(48) * Delta::secs(whole) + Rate::mbps(32) * slow + Rate::mbps(64) * fast;
    }
    let is_steady = |of: &Measured| {
        let found = findings(of, Rule::DslReports);
        assert!(found.loads[0].spread.down.unwrap() < 0.05);
        found.loads[0].is_steady(Direction::Down)
    };
    assert!(!is_steady(&measured));
    // Where none stands, it is what TCP asked for.
    for echo in &mut measured.echoes {
        echo.added_down = Some(Delta::ZERO);
    }
    assert!(is_steady(&measured));
}
