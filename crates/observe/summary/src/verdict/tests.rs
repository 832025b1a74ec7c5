//! Verdicts on made-up evidence.

use super::*;
use crate::SummaryParams;
use crate::testing::Value::{B, F, I, T, U};
use crate::testing::{Record, rows};
use crate::view::{Index, View};
use unbloat_table::{Column, Table};

fn table(name: &'static str, columns: &[(&'static str, &str)]) -> Table {
    let column = |(column, kind): &(&'static str, &str)| match *kind {
        "u" => Column::of::<u64>(column, ""),
        "i" => Column::of::<i64>(column, ""),
        "b" => Column::of::<bool>(column, ""),
        "t" => Column::of::<&str>(column, ""),
        _ => Column::of::<f64>(column, ""),
    };
    Table {
        name,
        doc: "",
        columns: columns.iter().map(column).collect(),
    }
}

/// At which a full packet takes so long to be sent.
const RATE_BPS: f64 = 1.2e7;
const SENT_MS: f64 = 1.0;

fn standing_table() -> Table {
    table(
        "standing",
        &[
            ("flow_id", "u"),
            ("client", "t"),
            ("client_port", "u"),
            ("server", "t"),
            ("server_port", "u"),
            ("direction", "t"),
            ("rtt_floor_ms", "f"),
            ("floor_seen", "b"),
            ("start_ns", "i"),
            ("end_ns", "i"),
            ("windows", "u"),
            ("low_windows", "u"),
            ("standing_windows", "u"),
            ("standing_start_ns", "i"),
            ("standing_end_ns", "i"),
            ("standing_p50_ms", "f"),
            ("standing_p95_ms", "f"),
            ("level_share", "f"),
            ("low_before_windows", "u"),
            ("step_share", "f"),
            ("standing_held_ms", "f"),
            ("back_share", "f"),
            ("ack_samples", "u"),
            ("ack_p50_ms", "f"),
            ("jitter_samples", "u"),
            ("jitter_p50_ms", "f"),
            ("step_ms", "f"),
            ("ahead_peak_bps", "f"),
            ("ahead_standing_bps", "f"),
            ("ahead_own_standing_bps", "f"),
            ("ahead_before_bps", "f"),
            ("ahead_steadiness", "f"),
            ("ahead_busy_windows", "u"),
            ("back_standing_bps", "f"),
            ("back_steadiness", "f"),
        ],
    )
}

fn flows_table() -> Table {
    table(
        "flows",
        &[
            ("flow_id", "u"),
            ("protocol", "t"),
            ("start_ns", "i"),
            ("end_ns", "i"),
            ("payload_down_bytes", "u"),
            ("payload_up_bytes", "u"),
            ("packets_down", "u"),
            ("packets_up", "u"),
            ("limit_down_receive_window_share", "f"),
            ("limit_down_application_share", "f"),
            ("handshake_down_ms", "f"),
            ("handshake_up_ms", "f"),
        ],
    )
}

/// Evidence of a download of ten seconds at 10 Mbit/s whose delay stood at `ms`.
fn download(flow_id: u64, ms: f64) -> Record {
    let stood = if ms > 0.0 { 38 } else { 0 };
    vec![
        ("flow_id", U(flow_id)),
        ("client", T("10.0.0.2")),
        ("client_port", U(4_711)),
        ("server", T("192.0.2.1")),
        ("server_port", U(80)),
        ("direction", T("down")),
        ("rtt_floor_ms", F(40.0)),
        ("floor_seen", B(true)),
        ("start_ns", I(0)),
        ("end_ns", I(10_000_000_000)),
        ("windows", U(40)),
        ("low_windows", U(40 - stood)),
        ("standing_windows", U(stood)),
        ("standing_start_ns", I(500_000_000)),
        ("standing_end_ns", I(10_000_000_000)),
        ("standing_p50_ms", F(ms + SENT_MS)),
        ("standing_p95_ms", F(ms * 1.2 + SENT_MS)),
        ("ahead_peak_bps", F(RATE_BPS)),
        ("ahead_standing_bps", F(RATE_BPS)),
        ("ahead_own_standing_bps", F(RATE_BPS)),
        ("ahead_steadiness", F(0.95)),
        ("ahead_busy_windows", U(40)),
    ]
}

fn with(mut record: Record, changed: Record) -> Record {
    record.retain(|(name, _)| changed.iter().all(|(other, _)| other != name));
    record.extend(changed);
    record
}

fn flow(flow_id: u64) -> Record {
    vec![
        ("flow_id", U(flow_id)),
        ("protocol", T("tcp")),
        ("start_ns", I(0)),
        ("end_ns", I(10_000_000_000)),
        ("payload_down_bytes", U(12_000_000)),
        ("payload_up_bytes", U(300)),
        ("packets_down", U(8_000)),
        ("packets_up", U(4_000)),
    ]
}

fn verdict(standing: &[Record], flows: &[Record]) -> Verdict {
    let mut judge = Judge::new(SummaryParams::default());
    for (table, records) in [(standing_table(), standing), (flows_table(), flows)] {
        let rows = rows(&table, records);
        judge.add(table.name, &View::new(&Index::of(&table), &rows));
    }
    judge.verdict()
}

/// The other leg of the same flow, without delay.
fn server_leg(flow_id: u64) -> Record {
    with(
        download(flow_id, 0.0),
        vec![
            ("direction", T("up")),
            ("ahead_peak_bps", F(5_000.0)),
            ("ahead_busy_windows", U(2)),
        ],
    )
}

#[test]
fn a_download_that_fills_its_queue_is_named_with_place_and_direction() {
    let before = vec![
        ("direction", T("up")),
        ("back_standing_bps", F(RATE_BPS)),
        ("back_own_standing_bps", F(RATE_BPS)),
        ("back_steadiness", F(0.95)),
        ("ahead_standing_bps", F(2e5)),
    ];
    let verdict = verdict(&[with(download(1, 200.0), before)], &[flow(1)]);
    assert_eq!(verdict.kind, VerdictKind::Bloated);
    let down = &verdict.directions.down;
    assert_eq!(down.fillers[0].flow_id, 1);
    assert_eq!(down.place, Some(Place::BeforeCapture));
    assert_eq!(down.queue_bdp, Some(5.0));
    assert_eq!(verdict.directions.up.kind, VerdictKind::NotTested);
    assert_eq!(
        verdict.sentence,
        "Bufferbloat when downloading: packets towards the client wait 200 ms (p95 240 ms) in a queue between the server and the capture point."
    );
}

#[test]
fn the_far_clock_divides_a_round_trip_and_names_no_other() {
    let ways = |share, back_bps| {
        let told = vec![
            ("back_share", F(share)),
            ("back_standing_bps", F(back_bps)),
            ("back_steadiness", F(0.95)),
        ];
        let verdict = verdict(&[with(download(1, 200.0), told)], &[flow(1)]);
        verdict.directions.map(|way| way.standing_p50_ms)
    };
    // The delay is of one way where only one carries enough to have a queue.
    assert_eq!(ways(0.1, 1e4), Both::new(Some(200.0), None));
    // Nothing of the client's is sent in a full packet there.
    assert_eq!(ways(0.9, 1e4), Both::new(None, Some(200.0 + SENT_MS)));
    let both = [0.75, 0.25].map(|share| Some((200.0 + SENT_MS) * share - SENT_MS));
    assert_eq!(ways(0.25, RATE_BPS), Both::new(both[0], both[1]));
}

#[test]
fn flows_beside_it_divide_the_loop_of_a_flow_whose_own_answers_are_too_few() {
    let of = |flow_id, told: Record| {
        let acknowledged = vec![
            ("ahead_standing_bps", F(6e7)),
            ("back_standing_bps", F(1e6)),
            ("back_own_standing_bps", F(5e5)),
            ("back_steadiness", F(0.95)),
        ];
        with(with(download(flow_id, 200.0), acknowledged), told)
    };
    let told = of(1, vec![("back_share", F(0.95))]);
    let found = verdict(&[told, of(2, vec![])], &[flow(1), flow(2)]);
    let Both { down, up } = &found.directions;
    assert_eq!(
        (down.kind, up.kind),
        (VerdictKind::CannotTell, VerdictKind::Bloated)
    );
    assert_eq!(up.waiting_flows, 2);
    // Of acknowledgments alone nobody knows whether they fill a queue.
    assert!(up.filled_by_unseen && up.fillers.len() == 2);
    let said = found.details();
    let filled = said.iter().find(|(what, _)| *what == "Filled by");
    let filled = &filled.unwrap().1;
    assert!(
        filled.starts_with("acknowledgments of flow 1, "),
        "{filled}"
    );
    let alone = verdict(&[of(2, vec![])], &[flow(2)]);
    assert_eq!(alone.directions.down.kind, VerdictKind::Bloated);
}

#[test]
fn the_deeper_of_two_queues_is_the_headline() {
    let told = |share| {
        vec![
            ("back_share", F(share)),
            ("back_standing_bps", F(RATE_BPS)),
            ("back_steadiness", F(0.95)),
        ]
    };
    let sentence = |share| verdict(&[with(download(1, 400.0), told(share))], &[flow(1)]).sentence;
    assert!(sentence(0.25).starts_with("Bufferbloat when downloading"));
    assert!(sentence(0.75).starts_with("Bufferbloat when uploading"));
}

#[test]
fn a_flow_that_saw_only_the_crest_does_not_decide_how_much() {
    let crest = |windows| {
        let short = with(download(2, 140.0), vec![("standing_windows", U(windows))]);
        let found = verdict(&[download(1, 85.0), short], &[flow(1), flow(2)]);
        found.directions.down.standing_p50_ms
    };
    assert_eq!(crest(10), Some(85.0));
    // One that saw at least half of it may have seen an emptier path at its begin.
    assert_eq!(crest(19), Some(140.0));
}

#[test]
fn words_follow_what_stood_for_a_second() {
    let kind = |ms| verdict(&[download(1, ms), server_leg(1)], &[flow(1)]).kind;
    assert_eq!(kind(61.0), VerdictKind::Bloated);
    assert_eq!(kind(45.0), VerdictKind::Slight);
    assert_eq!(kind(0.0), VerdictKind::Clean);
}

#[test]
fn a_queue_that_stood_for_a_second_of_a_long_load_is_slight() {
    let kind = |windows, busy| {
        let brief = vec![
            ("standing_windows", U(windows)),
            ("low_windows", U(40 - windows)),
            ("ahead_busy_windows", U(busy)),
        ];
        verdict(&[with(download(1, 200.0), brief)], &[flow(1)]).kind
    };
    assert_eq!(kind(4, 40), VerdictKind::Slight);
    // In a short load it is most of it, and two seconds are bloat in any.
    assert_eq!(kind(4, 31), VerdictKind::Bloated);
    assert_eq!(kind(8, 240), VerdictKind::Bloated);
}

#[test]
fn a_flow_of_a_few_bytes_fills_no_queue() {
    let poll = vec![
        ("ahead_peak_bps", F(500.0)),
        ("ahead_standing_bps", F(500.0)),
        ("ahead_own_standing_bps", F(500.0)),
    ];
    let verdict = verdict(&[with(download(1, 200.0), poll)], &[flow(1)]);
    let down = &verdict.directions.down;
    assert!(down.fillers.is_empty() && down.queue_bdp.is_none());
    assert!(down.filled_by_unseen);
}

#[test]
fn what_went_as_fast_before_fills_the_queue_only_if_it_filled_the_link() {
    let fills = |application_share, step_share| {
        let before = vec![
            ("low_before_windows", U(8)),
            ("ahead_before_bps", F(RATE_BPS)),
            ("step_share", F(step_share)),
        ];
        let held = vec![("limit_down_application_share", F(application_share))];
        let verdict = verdict(&[with(download(1, 200.0), before)], &[with(flow(1), held)]);
        assert_eq!(verdict.kind, VerdictKind::Bloated);
        !verdict.directions.down.filled_by_unseen
    };
    assert!(fills(0.0, 0.0));
    // A talk that goes on as before, and a route that became longer.
    assert!(!fills(0.9, 0.0));
    assert!(!fills(0.0, 1.0));
}

#[test]
fn a_delay_that_a_flow_between_the_same_hosts_does_not_have_is_left_out() {
    let talk = vec![
        ("ahead_standing_bps", F(500.0)),
        ("ahead_own_standing_bps", F(500.0)),
    ];
    let waits = with(download(1, 200.0), talk);
    let alone = verdict(std::slice::from_ref(&waits), &[flow(1)]);
    assert_eq!(alone.kind, VerdictKind::Bloated);
    let beside = |changed| {
        verdict(
            &[waits.clone(), with(download(2, 0.0), changed)],
            &[flow(1), flow(2)],
        )
    };
    let shared = beside(vec![]);
    assert_ne!(shared.kind, VerdictKind::Bloated);
    assert_eq!(shared.directions.down.flows_left_out, 1);
    assert!(
        shared
            .details()
            .iter()
            .any(|(label, _)| *label == "Left out")
    );
    // Another server, and another time.
    for changed in [
        vec![("server", T("192.0.2.7"))],
        vec![("end_ns", I(400_000_000))],
    ] {
        assert_eq!(beside(changed).kind, VerdictKind::Bloated);
    }
}

#[test]
fn how_much_is_told_by_the_flow_whose_host_held_back_least() {
    let amount = |held_ms, changed| {
        let held = vec![("rtt_floor_ms", F(20.0)), ("standing_held_ms", F(held_ms))];
        // It began in the full queue.
        let late = vec![("rtt_floor_ms", F(120.0)), ("standing_held_ms", F(10.0))];
        let late = with(with(download(2, 60.0), late), changed);
        let rows = [with(download(1, 200.0), held), late];
        let verdict = verdict(&rows, &[flow(1), flow(2)]);
        verdict.directions.down.standing_p50_ms
    };
    assert_eq!(amount(100.0, vec![]), Some(160.0 + SENT_MS));
    // Sharp by itself, no sharper beside it, another host.
    let own = Some(200.0 + SENT_MS);
    assert_eq!(amount(15.0, vec![]), own);
    assert_eq!(amount(100.0, vec![("standing_held_ms", F(60.0))]), own);
    assert_eq!(amount(100.0, vec![("server", T("192.0.2.7"))]), own);
    // Where the host held back less than a packet takes on the link, the rest of that time is taken off.
    assert_eq!(amount(SENT_MS, vec![]), Some(200.0 + SENT_MS / 2.0));
}

#[test]
fn a_queue_that_only_its_own_flow_feels_is_not_the_lines() {
    let begins = |flow_id, at_ns: i64, floor_ms| {
        let span = vec![
            ("start_ns", I(at_ns)),
            ("end_ns", I(at_ns + 250_000_000)),
            ("rtt_floor_ms", F(floor_ms)),
            ("windows", U(1)),
            ("ahead_peak_bps", F(1e5)),
            ("ahead_busy_windows", U(1)),
        ];
        with(download(flow_id, 0.0), span)
    };
    // Five flows begin in ten seconds of which the delay stood for nine, so many of them on the empty path.
    let verdict = |passed: u64, at_ns| {
        let floor_ms = |n| if n < passed { 45.0 } else { 240.0 };
        let mut rows = vec![download(1, 200.0)];
        rows.extend((0..5).map(|n| begins(n + 2, at_ns + n as i64 * 1_000_000_000, floor_ms(n))));
        verdict(&rows, &(1..7).map(flow).collect::<Vec<_>>())
    };
    let fair = verdict(5, 2_000_000_000);
    let down = &fair.directions.down;
    assert_eq!(down.kind, VerdictKind::OtherDelay);
    assert_eq!(down.other_delays[0].kind, OtherKind::OwnQueue);
    assert!(
        fair.sentence
            .starts_with("Delay, but no shared queue: each flow waits in a queue of its own"),
        "{}",
        fair.sentence
    );
    assert_eq!(verdict(4, 2_000_000_000).kind, VerdictKind::OtherDelay);
    // Too many waited, and before and after the queue nobody does.
    assert_eq!(verdict(3, 2_000_000_000).kind, VerdictKind::Bloated);
    assert_eq!(verdict(5, 8_000_000_000).kind, VerdictKind::Bloated);
}

#[test]
fn flows_that_were_low_all_the_while_show_that_the_queue_is_not_shared() {
    // Two seconds in ten, beside flows of all ten seconds of which some waited in so many windows.
    let kind_of = |passed: u64, waited: u64, floor_ms| {
        let short = vec![
            ("standing_start_ns", I(5_000_000_000)),
            ("standing_end_ns", I(7_000_000_000)),
            ("standing_windows", U(8)),
            ("low_windows", U(32)),
        ];
        let beside = |n| match n < passed {
            true => with(download(n + 2, 0.0), vec![("rtt_floor_ms", F(floor_ms))]),
            false => with(download(n + 2, 0.0), vec![("low_windows", U(40 - waited))]),
        };
        let mut rows = vec![with(download(1, 200.0), short)];
        rows.extend((0..6).map(beside));
        let found = verdict(&rows, &(1..8).map(flow).collect::<Vec<_>>());
        found.directions.down.kind
    };
    let kind = |passed, waited| kind_of(passed, waited, 40.0);
    assert_eq!(kind(3, 8), VerdictKind::OtherDelay);
    // A flow that began in the queue takes it for the floor.
    assert_eq!(kind_of(6, 0, 240.0), VerdictKind::Bloated);
    assert_eq!(kind(2, 8), VerdictKind::Bloated);
    assert_eq!(kind(0, 4), VerdictKind::Bloated);
    assert_eq!(kind(0, 3), VerdictKind::OtherDelay);
}

#[test]
fn delay_on_a_level_that_no_traffic_explains_is_a_queue_only_if_it_grew() {
    let verdict = |changed| {
        let level = vec![
            ("ahead_standing_bps", F(1e6)),
            ("ahead_steadiness", F(0.1)),
            ("level_share", F(0.95)),
        ];
        verdict(&[with(with(download(1, 60.0), level), changed)], &[flow(1)])
    };
    let longer_way = verdict(vec![("step_share", F(1.0)), ("step_ms", F(60.0))]);
    assert_eq!(longer_way.kind, VerdictKind::OtherDelay);
    let other = longer_way.directions.down.other_delays[0];
    assert_eq!(
        (other.kind, other.ms),
        (OtherKind::RouteChange, 60.0 + SENT_MS)
    );
    assert_eq!(verdict(vec![]).kind, VerdictKind::CannotTell);
    let grown = verdict(vec![("step_share", F(0.0))]);
    assert_eq!(grown.kind, VerdictKind::Bloated);
    assert!(grown.directions.down.filled_by_unseen);
}

#[test]
fn a_round_trip_belongs_to_the_direction_that_is_full() {
    let upload = vec![
        ("ahead_standing_bps", F(20_000.0)),
        ("ahead_steadiness", F(0.9)),
        ("back_standing_bps", F(5e6)),
        ("back_steadiness", F(0.9)),
    ];
    let verdict = verdict(&[with(download(1, 300.0), upload)], &[flow(1)]);
    assert_eq!(verdict.directions.up.kind, VerdictKind::Bloated);
    assert_eq!(verdict.directions.up.place, Some(Place::BeforeCapture));
    assert_ne!(verdict.directions.down.kind, VerdictKind::Bloated);
}

#[test]
fn acknowledgments_that_go_more_steadily_than_their_data_fill_nothing() {
    let acknowledged = vec![
        ("ahead_steadiness", F(0.5)),
        ("ahead_coupling", F(0.9)),
        ("back_standing_bps", F(2e5)),
        ("back_steadiness", F(0.95)),
    ];
    let found = verdict(&[with(download(1, 300.0), acknowledged)], &[flow(1)]);
    assert_eq!(found.directions.down.kind, VerdictKind::Bloated);
    assert_ne!(found.directions.up.kind, VerdictKind::Bloated);
    // Answers now and then, whose median is nothing, and the few bytes that ask for them.
    let asked = vec![
        ("ahead_standing_bps", F(0.0)),
        ("ahead_own_standing_bps", F(0.0)),
        ("ahead_peak_bps", F(3e5)),
        ("back_standing_bps", F(4e3)),
        ("back_own_standing_bps", F(4e3)),
        ("back_peak_bps", F(1e4)),
    ];
    let answered = verdict(&[with(download(1, 300.0), asked)], &[flow(1)]);
    assert_eq!(answered.directions.down.kind, VerdictKind::Bloated);
}

#[test]
fn what_the_receiving_end_cannot_see_without_timestamps_is_not_called_clean() {
    let at_client = vec![("handshake_down_ms", F(0.1)), ("handshake_up_ms", F(40.0))];
    let seen = verdict(&[download(1, 0.0)], &[with(flow(1), at_client)]);
    assert_eq!(seen.kind, VerdictKind::CannotTell);
    assert_eq!(seen.directions.down.reason, Some(Reason::Vantage));
    let at_server = vec![("handshake_down_ms", F(40.0)), ("handshake_up_ms", F(0.1))];
    let whole = verdict(&[download(1, 0.0)], &[with(flow(1), at_server)]);
    assert_eq!(whole.kind, VerdictKind::Clean);
}

#[test]
fn a_queue_is_in_the_sending_host_only_if_the_rest_of_the_path_is_far_longer() {
    let place = |to_client, to_server| {
        let times = vec![
            ("handshake_down_ms", F(to_client)),
            ("handshake_up_ms", F(to_server)),
        ];
        let sender = with(
            download(1, 60.0),
            vec![("direction", T("up")), ("back_share", F(1.0))],
        );
        verdict(&[sender], &[with(flow(1), times)])
            .directions
            .down
            .place
    };
    assert_eq!(place(40.0, 0.1), Some(Place::SendingHost));
    // A network without distance, captured at the client: the server is as near.
    assert_eq!(place(0.05, 0.1), Some(Place::BeforeCapture));
    // Its Wi-Fi, or the network of its data centre, lies between.
    assert_eq!(place(100.0, 3.0), Some(Place::BeforeCapture));
    assert_eq!(place(0.1, 40.0), Some(Place::BeforeCapture));
}

#[test]
fn a_transfer_that_its_window_holds_back_tests_nothing() {
    let held = vec![("limit_down_receive_window_share", F(0.9))];
    let verdict = verdict(&[download(1, 0.0), server_leg(1)], &[with(flow(1), held)]);
    assert_eq!(verdict.kind, VerdictKind::NotTested);
    assert_eq!(verdict.directions.down.reason, Some(Reason::ReceiveWindow));
}

#[test]
fn a_capture_of_the_middle_of_a_load_acquits_nobody() {
    let cut = vec![("floor_seen", B(false))];
    let verdict = verdict(&[with(download(1, 0.0), cut), server_leg(1)], &[flow(1)]);
    assert_eq!(verdict.directions.down.reason, Some(Reason::Floor));
}

/// A flow of the same hosts that knows the empty path waits in most windows, though nothing stood for a second.
#[test]
fn who_begins_in_a_queue_acquits_nobody() {
    let late = |ms: f64| with(download(1, 0.0), vec![("rtt_floor_ms", F(ms))]);
    let waits = |step: Record| {
        let known = vec![("rtt_floor_ms", F(20.0)), ("low_windows", U(2))];
        with(with(download(2, 0.0), known), step)
    };
    let reason = |rows: &[Record]| {
        let down = verdict(rows, &[flow(1), flow(2)]).directions.down;
        (down.kind, down.reason)
    };
    let queue = [late(66.0), server_leg(1), waits(vec![]), server_leg(2)];
    let untold = (VerdictKind::CannotTell, Some(Reason::Floor));
    assert_eq!(reason(&queue), untold);
    let near = [late(34.0), server_leg(1), waits(vec![]), server_leg(2)];
    assert_eq!(reason(&near), (VerdictKind::Clean, None));
    let stepped = waits(vec![("step_ms", F(46.0))]);
    let longer = [late(66.0), server_leg(1), stepped, server_leg(2)];
    assert_eq!(reason(&longer), (VerdictKind::Clean, None));
}

#[test]
fn delayed_acknowledgments_are_named() {
    let few = vec![
        ("ahead_peak_bps", F(5_000.0)),
        ("ack_samples", U(30)),
        ("ack_p50_ms", F(195.0)),
    ];
    let verdict = verdict(&[with(download(1, 0.0), few)], &[]);
    assert_eq!(
        verdict.sentence,
        "Delay, but no queue: the host delays acknowledgements (195 ms)."
    );
}

#[test]
fn other_delays_stand_beside_an_all_clear_and_never_beside_a_queue() {
    let late = vec![("jitter_samples", U(40)), ("jitter_p50_ms", F(30.0))];
    let kinds = |ms| {
        let verdict = verdict(
            &[with(download(1, ms), late.clone()), server_leg(1)],
            &[flow(1)],
        );
        let down = verdict.directions.down.clone();
        let kinds: Vec<OtherKind> = down.other_delays.iter().map(|other| other.kind).collect();
        (
            down.kind,
            kinds,
            verdict
                .details()
                .iter()
                .any(|(label, _)| *label == "Other delay"),
        )
    };
    assert_eq!(
        kinds(0.0),
        (VerdictKind::Clean, vec![OtherKind::Jitter], true)
    );
    assert_eq!(kinds(200.0), (VerdictKind::Bloated, vec![], false));
}

#[test]
fn a_step_of_the_path_is_named_beside_an_all_clear() {
    let step = |ms| {
        let evidence = with(download(1, 0.0), vec![("step_ms", F(ms))]);
        verdict(&[evidence, server_leg(1)], &[flow(1)])
            .directions
            .down
            .other_delays
    };
    assert_eq!(step(80.0)[0].kind, OtherKind::RouteChange);
    assert_eq!(step(20.0), []);
}

#[test]
fn load_that_nobody_can_judge_comes_before_other_delays() {
    let at_client = vec![("handshake_down_ms", F(0.1)), ("handshake_up_ms", F(40.0))];
    let late = with(
        download(2, 0.0),
        vec![
            ("direction", T("up")),
            ("ack_samples", U(30)),
            ("ack_p50_ms", F(195.0)),
            ("ahead_peak_bps", F(5_000.0)),
        ],
    );
    let rows = [download(1, 0.0), late];
    let verdict = verdict(&rows, &[with(flow(1), at_client)]);
    assert_eq!(verdict.kind, VerdictKind::CannotTell);
    assert_eq!(verdict.directions.up.kind, VerdictKind::OtherDelay);
}

#[test]
fn no_column_matters_but_those_that_are_asked_for() {
    let table = standing_table();
    let mut judge = Judge::new(SummaryParams::default());
    let asked = View::asked_by(&table, |view| judge.add("standing", view));
    assert!(asked.contains("back_share") && !asked.contains("target_ms"));
}

#[test]
fn a_verdict_survives_json() {
    let verdict = verdict(&[download(1, 200.0)], &[flow(1)]);
    let text = serde_json::to_string(&verdict).unwrap();
    assert!(text.contains(r#""kind":"bloated""#));
    assert_eq!(serde_json::from_str::<Verdict>(&text).unwrap(), verdict);
}

#[test]
fn flows_that_the_verdict_needs_have_rows() {
    // Shorter ones may have none, so none of them may be what calls a direction free of queues.
    const { assert!(unbloat_trace::ALWAYS_TOLD_WINDOWS <= direction::LEAST_BUSY) };
}
