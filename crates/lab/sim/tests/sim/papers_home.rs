//! What "My Buffer-bloated Router" (CACM) found: shaping to 95 % of the line with CAKE or FQ-CoDel makes delay independent
//! of load.

use crate::scenario::{Run, experiment};
use unbloat_link::service::{self, constant};
use unbloat_link::{BottleneckParams, Config as Element};
use unbloat_units::{Cells, Framing, Rate};

/// ATM with 44 bytes of overhead, as the article set it.
const ADSL: Framing = Framing {
    overhead_bytes: 44,
    minimum_bytes: 0,
    cells: Cells::Atm,
};

/// A router that sends 95 % of what the line carries.
fn shaper(queue: &str, line: Rate) -> Element {
    Element::Bottleneck(BottleneckParams {
        queue: unbloat_qdisc::Config::named(queue).expect("a queue of that name"),
        service: service::Config::Constant(constant::Params {
            rate: Rate::bps(line.as_bps() * 95 / 100),
        }),
        framing: ADSL,
    })
}

/// Mean round trip of a ping beside other flows over an ADSL line, shaped by a discipline or left to the modem.
fn ping_ms(sqm: Option<&str>, load: &str) -> f64 {
    let mut plan = experiment(&format!(
        r#"
        [scenario]
        duration = "60 s"
        warmup = "10 s"

        [link.down]
        rate = "12 Mbit/s"
        delay = "10 ms"
        queue = {{ kind = "droptail", limit = "500 kB" }}
        framing = {{ overhead_bytes = 44, cells = "atm" }}

        [link.up]
        rate = "1 Mbit/s"
        delay = "10 ms"
        queue = {{ kind = "droptail", limit = "100 kB" }}
        framing = {{ overhead_bytes = 44, cells = "atm" }}

        [[flow]]
        name = "ping"
        app = "ping"

        {load}
        "#
    ));
    if let Some(queue) = sqm {
        plan.down[0]
            .elements
            .insert(0, shaper(queue, Rate::mbps(12)));
        plan.up[0].elements.insert(0, shaper(queue, Rate::mbps(1)));
    }
    Run::from(&plan).get("ping", "rtt_mean_ms")
}

const VIDEO: &str = r#"
    [[flow]]
    app = { kind = "video", ladder = ["2.5 Mbit/s", "5 Mbit/s", "16 Mbit/s"] }
    "#;
const FILE: &str = r#"
    [[flow]]
    app = "bulk"
    "#;
const UPLOAD: &str = r#"
    [[flow]]
    app = { kind = "bulk", direction = "up" }
    "#;

#[test]
fn shaped_to_95_percent_delay_does_not_depend_on_the_load() {
    let downloads = [
        VIDEO.to_owned(),
        VIDEO.repeat(2),
        format!("{VIDEO}{FILE}"),
        FILE.repeat(4),
    ];
    let quiet = ping_ms(None, "");
    for load in &downloads {
        assert!(
            ping_ms(None, load) > 10.0 * quiet,
            "the modem's buffer fills"
        );
    }
    for queue in ["cake", "fq_codel"] {
        let idle = ping_ms(Some(queue), "");
        for load in &downloads {
            let more = ping_ms(Some(queue), load) - idle;
            assert!(
                (0.0..3.0).contains(&more),
                "{queue}: {more} ms under {load}"
            );
        }
    }
}

/// A full packet of an upload takes 34 cells: 15.2 ms of 0.95 Mbit/s. An echo waits for the one that is being sent, and for
/// one more at most.
#[test]
fn shaped_to_95_percent_an_upload_adds_no_more_than_the_time_of_its_packets() {
    let packet_ms = 34.0 * 53.0 * 8.0 / 950.0;
    for load in [UPLOAD.to_owned(), format!("{VIDEO}{FILE}{UPLOAD}")] {
        assert!(ping_ms(None, &load) > 500.0);
        for queue in ["cake", "fq_codel"] {
            let more = ping_ms(Some(queue), &load) - ping_ms(Some(queue), "");
            assert!(more < 2.0 * packet_ms, "{queue}: {more} ms under {load}");
        }
    }
}
