use super::*;
use crate::load::{Passed, line_rate};
use crate::place::Located;

fn load(direction: Direction, mbps: u64, added_ms: i64) -> LoadedDirection {
    LoadedDirection {
        direction,
        delivered: Rate::mbps(mbps),
        line: line_rate(direction, Rate::mbps(mbps), Passed::default()),
        is_steady: true,
        added: Delta::ms(added_ms),
        added_p95: Delta::ms(added_ms),
        idle_rtt: Delta::ms(20),
        unsent: None,
        is_starved: false,
        located: None,
    }
}

/// Over a line of such a rate.
fn line(direction: Direction, line: Rate, added_ms: i64) -> LoadedDirection {
    LoadedDirection {
        line,
        ..load(direction, 1, added_ms)
    }
}

fn changing(load: LoadedDirection) -> LoadedDirection {
    LoadedDirection {
        is_steady: false,
        ..load
    }
}

fn at(place: Place, load: LoadedDirection) -> LoadedDirection {
    let between = "between this host and hop 1".to_owned();
    LoadedDirection {
        located: Some(Located { place, between }),
        ..load
    }
}

fn cures(loads: &[LoadedDirection]) -> Vec<Cure> {
    advise(loads, &[]).into_iter().map(|a| a.cure).collect()
}

fn shaper(down: Option<Rate>, up: Option<Rate>, site: Site) -> Cure {
    Cure::Shaper { down, up, site }
}

#[test]
fn a_short_queue_needs_nothing_and_says_by_which_numbers() {
    let loads = [load(Direction::Down, 50, 8), load(Direction::Up, 10, 29)];
    let advice = advise(&loads, &[]);
    assert_eq!(advice.len(), 1);
    assert_eq!(advice[0].cure, Cure::Nothing);
    assert_eq!(advice[0].evidence.len(), 2);
}

#[test]
fn steady_directions_are_shaped_to_a_share_of_the_line() {
    let loads = [
        line(Direction::Down, Rate::mbps(50), 160),
        line(Direction::Up, Rate::mbps(10), 240),
    ];
    let expected = shaper(
        Some(Rate::mbps(45)),
        Some(Rate::kbps(9_500)),
        Site::Anywhere,
    );
    assert_eq!(cures(&loads), [expected]);
    let one = shaper(None, Some(Rate::kbps(9_500)), Site::Anywhere);
    assert_eq!(cures(&loads[1..]), [one]);
}

#[test]
fn an_upload_whose_rate_changes_is_followed_in_both_directions() {
    let down = line(Direction::Down, Rate::mbps(50), 160);
    let up = changing(line(Direction::Up, Rate::mbps(10), 240));
    let advice = advise(&[down, up], &[]);
    assert!(matches!(
        advice[0].cure,
        Cure::AdaptiveShaper {
            down: Some(_),
            up: Some(_)
        }
    ));
    assert_eq!(advice[0].directions, Direction::BOTH);
    assert_eq!(
        advice[1].cure,
        shaper(Some(Rate::mbps(45)), None, Site::Anywhere)
    );
    assert!(advice[1].is_alternative);
}

#[test]
fn a_download_whose_rate_changes_is_held_by_its_receive_windows() {
    let down = changing(line(Direction::Down, Rate::mbps(3), 4_000));
    let advice = advise(&[down, load(Direction::Up, 10, 9)], &[]);
    assert_eq!(advice[0].cure, Cure::ReceiveWindow);
    assert!(matches!(
        advice[1].cure,
        Cure::AdaptiveShaper {
            down: Some(_),
            up: None
        }
    ));
    assert!(advice[1].is_alternative);
}

#[test]
fn the_place_of_the_queue_decides_the_kind_of_cure() {
    let up = || line(Direction::Up, Rate::mbps(10), 240);
    let here = |cure| vec![cure, shaper(None, Some(Rate::kbps(9_500)), Site::ThisHost)];
    for (place, expected) in [
        (Place::Qdisc, here(Cure::DeviceQueue)),
        (Place::Driver, here(Cure::DriverQueue)),
        (Place::LocalNetwork, here(Cure::LocalLink)),
        (
            Place::AccessLine,
            vec![shaper(None, Some(Rate::kbps(9_500)), Site::Anywhere)],
        ),
        (Place::Beyond, vec![Cure::Elsewhere]),
    ] {
        assert_eq!(cures(&[at(place, up())]), expected, "{place:?}");
    }
    // Each direction has its own place.
    let both = [
        at(Place::Beyond, line(Direction::Down, Rate::mbps(50), 160)),
        at(Place::AccessLine, up()),
    ];
    let expected = [
        shaper(None, Some(Rate::kbps(9_500)), Site::Anywhere),
        Cure::Elsewhere,
    ];
    assert_eq!(cures(&both), expected);
}

#[test]
fn data_that_waits_in_sockets_is_limited_where_it_is_sent() {
    for direction in Direction::BOTH {
        let waits = LoadedDirection {
            delivered: Rate::mbps(100),
            unsent: Some(Delta::ms(900)),
            ..load(direction, 100, 5)
        };
        let bytes = Bytes::new(62_500);
        assert_eq!(cures(&[waits]), [Cure::NotsentLowat { direction, bytes }]);
    }
}

#[test]
fn a_run_that_means_nothing_gets_no_other_advice() {
    let doubt = Doubt {
        is_fatal: true,
        reason: "CPUs were 99 % busy".to_owned(),
    };
    let advice = advise(&[load(Direction::Up, 10, 240)], &[doubt]);
    assert_eq!(advice[0].cure, Cure::Repeat);
    assert!(advice[0].evidence[0].contains("99 %"));
    assert_eq!(advise(&[], &[])[0].cure, Cure::MeasureDelay);
}

#[test]
fn advice_survives_a_file() {
    let loads = [
        changing(load(Direction::Up, 10, 240)),
        load(Direction::Down, 50, 160),
    ];
    let advice = advise(&loads, &[]);
    let text = serde_json::to_string(&advice).unwrap();
    assert!(text.contains(r#""kind":"adaptive_shaper""#), "{text}");
    assert_eq!(serde_json::from_str::<Vec<Advice>>(&text).unwrap(), advice);
}

#[test]
fn a_download_that_waits_for_its_acknowledgements_has_its_uplink_shaped() {
    let down = LoadedDirection {
        is_starved: true,
        added_p95: Delta::ms(9),
        ..line(Direction::Down, Rate::mbps(30), 298)
    };
    let up = line(Direction::Up, Rate::kbps(300), 12);
    let advice = advise(&[down.clone(), up.clone()], &[]);
    assert_eq!(advice.len(), 1);
    assert_eq!(
        advice[0].cure,
        shaper(None, Some(Rate::kbps(285)), Site::Anywhere)
    );
    assert_eq!(advice[0].directions, Direction::BOTH);
    // Its own queue fills as soon as acknowledgements no longer wait.
    let bloated = LoadedDirection {
        added_p95: Delta::ms(299),
        ..down.clone()
    };
    let (of_down, of_up) = (Rate::mbps(27), Rate::kbps(285));
    assert_eq!(
        cures(&[bloated.clone(), up.clone()]),
        [shaper(Some(of_down), Some(of_up), Site::Anywhere)]
    );
    // A download that changes is cured as any other, if uploads are.
    let bloated = changing(bloated);
    let of_up = || shaper(None, Some(of_up), Site::Anywhere);
    assert_eq!(cures(&[bloated.clone(), up]), [of_up()]);
    let felt = line(Direction::Up, Rate::kbps(300), 240);
    let both = cures(&[bloated.clone(), felt.clone()]);
    assert_eq!(both[..2], [of_up(), Cure::ReceiveWindow]);
    let cure = cures(&[bloated, changing(felt)])[0];
    assert!(matches!(cure, Cure::AdaptiveShaper { .. }), "{cure:?}");
    // Nothing is known of the uplink: a shaper of the download is what is left.
    assert!(matches!(
        cures(&[down])[..],
        [Cure::Shaper { down: Some(_), .. }]
    ));
}

#[test]
fn an_uplink_for_which_a_download_waits_is_cured_where_its_queue_is() {
    // Gbit/s of download, whose acknowledgements are more than 5 Mbit/s.
    let down = LoadedDirection {
        is_starved: true,
        added_p95: Delta::ms(9),
        ..load(Direction::Down, 900, 210)
    };
    let up = at(Place::Qdisc, line(Direction::Up, Rate::mbps(5), 200));
    let of_up = || shaper(None, Some(Rate::kbps(4_750)), Site::ThisHost);
    for loads in [[down.clone(), up.clone()], [up.clone(), down.clone()]] {
        let advice = advise(&loads, &[]);
        let cures: Vec<_> = advice.iter().map(|one| one.cure).collect();
        assert_eq!(cures, [Cure::DeviceQueue, of_up()]);
        assert_eq!(advice[0].directions.len(), 2);
        assert!(advice[0].evidence[2].contains("own acknowledgements"));
    }
    // Uploads alone are not felt: what the download waits for is the reason, also for the alternative.
    let quiet = LoadedDirection {
        added: Delta::ms(1),
        ..up.clone()
    };
    let advice = advise(&[down.clone(), quiet.clone()], &[]);
    assert_eq!(cures(&[down.clone(), quiet]), [Cure::DeviceQueue, of_up()]);
    assert_eq!(advice[1].directions, Direction::BOTH);
    assert!(advice[1].evidence[0].contains("210 ms"));
    let beyond = at(Place::Beyond, up);
    assert_eq!(cures(&[down, beyond]), [Cure::Elsewhere]);
}

#[test]
fn a_test_behind_this_hosts_shaper_does_not_shape_slower_and_slower() {
    let behind = |measured, shaped| {
        let mut down = line(Direction::Down, Rate::kbps(measured), 40);
        down.behind(shaped);
        down.shaper_rate()
    };
    let eighteen = Some(Rate::mbps(18));
    assert_eq!(behind(17_700, eighteen), Rate::mbps(18));
    // The line itself is slower than the shaper.
    assert_eq!(behind(10_000, eighteen), Rate::mbps(9));
    // Nobody knows its rate.
    assert_eq!(behind(17_700, None), Rate::kbps(17_700));
}
