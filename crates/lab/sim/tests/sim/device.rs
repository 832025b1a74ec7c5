//! What waits within a phone that uploads (IMC 2016, "Understanding On-device Bufferbloat for Cellular Upload").

use crate::scenario::{Run, experiment};
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

/// ACKs that a radio has held back arrive together, and the application writes after the last of them. Writing after the first, an upload
/// beside a download stands at two thirds of its buffer, 436 kB here. Under Linux 6.12 (`unbloat lab run --virtual`) it has 569 kB in
/// flight, and the download an RTT whose relative standard deviation is 0.118.
#[test]
fn an_application_writes_after_all_acks_that_arrive_together() {
    let run = Run::from(&experiment(
        r#"
        [scenario]
        duration = "60 s"
        warmup = "10 s"

        [link.down]
        rate = "20 Mbit/s"
        radio = "lte"
        delay = "20 ms"
        queue = { kind = "droptail", limit = "1 MB" }

        [link.up]
        rate = "8 Mbit/s"
        delay = "20 ms"
        queue = { kind = "droptail", limit = "1000 packets" }

        [[flow]]
        name = "download"
        app = "bulk"

        [[flow]]
        name = "upload"
        app = { kind = "bulk", direction = "up" }
        start = "2 s"
        send_buffer = "650 kB"
        "#,
    ));
    let in_flight = run.get("upload", "in_flight_p50_bytes");
    assert!((in_flight / 569e3 - 1.0).abs() < 0.1, "{in_flight}");
    let rsd = run.get("download", "rtt_rsd");
    assert!((0.09..0.15).contains(&rsd), "{rsd}");
}
