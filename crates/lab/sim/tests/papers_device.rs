//! What IMC 2016 ("Understanding On-device Bufferbloat for Cellular Upload") measured on phones: a download beside an upload.

#[expect(dead_code, reason = "other tests use the rest")]
mod scenario;

use scenario::{Run, experiment};
use unbloat_link::Config as Element;
use unbloat_link::device::{self, modem};
use unbloat_link::radio::{Rates, uplink};
use unbloat_link::service::constant;
use unbloat_qdisc::discipline::droptail;
use unbloat_units::{Bytes, Rate};

/// A phone of 2016 on LTE: 1,000 packets of qdisc, a ring, 400 kB of firmware and 8 Mbit/s of uplink.
fn phone() -> Element {
    Element::Device(device::Params {
        qdisc: unbloat_qdisc::Config::DropTail(droptail::Params::default()),
        ring: device::RingLimit {
            packets: 16,
            bytes: None,
        },
        modem: modem::Config::LteUplink(uplink::Params {
            buffer: Bytes::new(400_000),
            rates: Rates::Constant(constant::Params {
                rate: Rate::mbps(8),
            }),
            ..uplink::Params::default()
        }),
        control: None,
    })
}

/// A minute of what a phone does.
fn phone_with(flows: &str) -> Run {
    let mut plan = experiment(&format!(
        r#"
        [scenario]
        duration = "60 s"
        warmup = "5 s"

        [link.down]
        rate = "20 Mbit/s"
        delay = "25 ms"
        queue = {{ kind = "droptail", limit = "500 kB" }}

        [link.up]
        delay = "25 ms"

        {flows}
        "#
    ));
    plan.up[0].elements.insert(0, phone());
    Run::from(&plan)
}

const DOWNLOAD: &str = r#"
    [[flow]]
    name = "download"
    app = "bulk"
    cc = "cubic"
    receive_window = { kind = "static", window = "800 kB" }
    "#;

const UPLOAD: &str = r#"
    [[flow]]
    name = "upload"
    app = { kind = "bulk", direction = "up" }
    cc = "cubic"
    receive_window = { kind = "static", window = "800 kB" }
    "#;

/// Section 4 and Table 1, Fig. 9, section 5.1: the firmware holds up to 400 ms at 8 Mbit/s, the qdisc another 200 ms or more, the
/// driver next to nothing; 63 % of the download's round trip in the mean is on the device (74 % in the median), and it
/// loses two thirds of its throughput.
#[test]
fn an_upload_inflates_the_round_trip_of_a_download_most_of_it_on_the_device() {
    let (alone, beside) = (
        phone_with(DOWNLOAD),
        phone_with(&format!("{DOWNLOAD}{UPLOAD}")),
    );
    let rtt_ms = |run: &Run| run.get("download", "rtt_mean_ms");
    assert!(
        rtt_ms(&beside) > 3.0 * rtt_ms(&alone),
        "{} {}",
        rtt_ms(&beside),
        rtt_ms(&alone)
    );
    let goodput = |run: &Run| run.get("download", "goodput_bps");
    let left = goodput(&beside) / goodput(&alone);
    assert!((0.15..0.5).contains(&left), "{left}");

    let [qdisc, driver, firmware] = ["qdisc", "driver", "firmware"]
        .map(|place| beside.get("up", &format!("{place}_delay_mean_ms")));
    assert!((300.0..450.0).contains(&firmware), "{firmware}");
    assert!(qdisc > 200.0, "{qdisc}");
    assert!(driver < 0.05 * (qdisc + firmware), "{driver}");
    let on_device = (qdisc + driver + firmware) / rtt_ms(&beside);
    assert!((0.63..1.0).contains(&on_device), "{on_device}");
}

/// Fig. 11: the download suffers because its ACKs wait; datagrams that come down beside the same upload do not.
#[test]
fn datagrams_come_down_undisturbed_beside_an_upload() {
    let datagrams = r#"
        [[flow]]
        name = "datagrams"
        app = { kind = "onoff", rate = "5 Mbit/s", size = "1400 B" }
        "#;
    let delay_ms =
        |flows: &str| phone_with(&format!("{datagrams}{flows}")).get("datagrams", "delay_p95_ms");
    let (alone, beside) = (delay_ms(""), delay_ms(UPLOAD));
    assert!((beside / alone - 1.0).abs() < 0.05, "{alone} {beside}");
}

/// T_S, the first of the on-device delays: what an upload has written waits for all that is before it in the socket. A low-water mark
/// leaves the other delays and the goodput as they are.
#[test]
fn a_low_water_mark_takes_the_wait_out_of_the_socket_and_nothing_else() {
    let upload = r#"
        [[flow]]
        name = "upload"
        app = { kind = "bulk", direction = "up" }
        cc = "bbr"
        "#;
    let [plain, marked] = ["", "[flow.up]\nnotsent_lowat = \"64 kB\"\n"]
        .map(|mark| phone_with(&format!("{upload}{mark}")));
    let found = |run: &Run| {
        let delays =
            ["socket", "firmware"].map(|place| run.get("up", &format!("{place}_delay_mean_ms")));
        (delays, run.get("upload", "goodput_bps"))
    };
    let (([socket, firmware], goodput), ([short, same], as_fast)) = (found(&plain), found(&marked));
    // The socket holds 64 kB at most, and half of it at least.
    let [least, most] = [32e3, 64e3].map(|bytes| bytes * 8e3 / as_fast);
    assert!((least..most * 1.1).contains(&short), "{short}");
    assert!(socket > 10.0 * short, "{socket}");
    assert!((same / firmware - 1.0).abs() < 0.1, "{firmware} {same}");
    assert!(
        (as_fast / goodput - 1.0).abs() < 0.02,
        "{goodput} {as_fast}"
    );
}
