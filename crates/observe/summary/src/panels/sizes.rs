//! Flow sizes and heavy hitters (§4.1, Fig. 2).

use crate::SummaryParams;
use crate::findings::{Findings, Group};
use crate::panel::Panel;
use crate::view::View;
use unbloat_stats::LogHistogram;
use unbloat_trace::flows::{self, VolumeColumns};
use unbloat_units::{Both, Bytes};

pub(crate) struct Sizes(Both<OneWay>);

/// Of one direction.
struct OneWay {
    heavy_above: u64,
    sizes: LogHistogram,
    flows: u64,
    empty: u64,
    heavy: u64,
    heavy_bytes: u64,
    bytes: u64,
}

impl Sizes {
    pub(crate) fn new(params: &SummaryParams) -> Sizes {
        Sizes(Both::new(
            OneWay::new(params.heavy_down),
            OneWay::new(params.heavy_up),
        ))
    }
}

impl OneWay {
    fn new(heavy: Bytes) -> OneWay {
        OneWay {
            heavy_above: heavy.as_u64(),
            sizes: LogHistogram::new(),
            flows: 0,
            empty: 0,
            heavy: 0,
            heavy_bytes: 0,
            bytes: 0,
        }
    }

    fn add(&mut self, bytes: u64) {
        self.sizes.record(bytes as f64);
        self.flows += 1;
        self.empty += u64::from(bytes == 0);
        self.bytes += bytes;
        if bytes > self.heavy_above {
            self.heavy += 1;
            self.heavy_bytes += bytes;
        }
    }

    fn finish(&self, group: &mut Group, way: &str, paper: [f64; 4]) {
        let [p90, empty, heavy, heavy_bytes] = paper;
        let size = "Size is TCP payload in one direction, without headers; repeated bytes count each time.";
        let of = (&self.sizes, 0.9);
        group.quantile(
            &format!("90 % of flows carry at most, {way}"),
            of,
            ("B", Some(p90)),
            size,
        );
        let none = "No payload: complete or incomplete handshakes only.";
        group.share(
            &format!("flows without {way} payload"),
            (self.empty, self.flows),
            empty,
            none,
        );
        let above = Bytes::new(self.heavy_above);
        let doc = format!("Heavy hitters: flows with more than {above} in this direction.");
        group.share(
            &format!("heavy hitters {way}, of flows"),
            (self.heavy, self.flows),
            heavy,
            &doc,
        );
        let part = (self.heavy_bytes, self.bytes);
        group.share(
            &format!("heavy hitters {way}, of bytes"),
            part,
            heavy_bytes,
            &doc,
        );
    }
}

impl Panel for Sizes {
    fn table(&self) -> &'static str {
        flows::NAME
    }

    fn add(&mut self, view: &View) {
        let (up, down) = (
            view.column(VolumeColumns::payload_up_bytes),
            view.column(VolumeColumns::payload_down_bytes),
        );
        for row in view.tcp_rows() {
            self.0.down.add(down.u64(row).unwrap_or(0));
            self.0.up.add(up.u64(row).unwrap_or(0));
        }
    }

    fn finish(&self, found: &mut Findings) {
        let mut group = found.group("Flow size (Fig. 2)");
        self.0
            .down
            .finish(&mut group, "down", [35_900.0, 11.3, 0.6, 61.7]);
        self.0
            .up
            .finish(&mut group, "up", [2_900.0, 10.9, 0.1, 63.9]);
        found.cdf("2", "downlink", &self.0.down.sizes);
        found.cdf("2", "uplink", &self.0.up.sizes);
        let down = vec![(35_900.0, 0.9), (85_900.0, 0.95), (1e6, 0.994)];
        found.curve("2", "paper: downlink", down);
        found.curve("2", "paper: uplink", vec![(2_900.0, 0.9), (1e5, 0.999)]);
    }
}
