//! The tick of clients' TCP timestamp clocks (§6.1).

use crate::findings::Findings;
use crate::panel::Panel;
use crate::view::View;
use unbloat_trace::flows::{self, TickColumns, VolumeColumns};

#[derive(Default)]
pub(crate) struct Ticks {
    large: u64,
    one: u64,
    ten: u64,
    other: u64,
}

impl Panel for Ticks {
    fn table(&self) -> &'static str {
        flows::NAME
    }

    fn add(&mut self, view: &View) {
        let (large, tick) = (
            view.column(VolumeColumns::large_down),
            view.column(TickColumns::tick_ms.down),
        );
        for row in view.tcp_rows().filter(|&row| large.is_true(row)) {
            self.large += 1;
            let near = |ms: f64, to: f64| (ms / to - 1.0).abs() < 0.05;
            match tick.f64(row) {
                Some(ms) if near(ms, 1.0) => self.one += 1,
                Some(ms) if near(ms, 10.0) => self.ten += 1,
                Some(_) => self.other += 1,
                None => {}
            }
        }
    }

    fn finish(&self, found: &mut Findings) {
        let doc = "G by Formula 3 over at least 3 s, of the clients of large flows.";
        let none = self.large - self.one - self.ten - self.other;
        let mut group = found.group("Timestamp tick G (§6.1)");
        group.share("1 ms", (self.one, self.large), 57.3, doc);
        group.share("10 ms", (self.ten, self.large), 36.4, doc);
        group.share("other", (self.other, self.large), 0.4, doc);
        group.share(
            "none",
            (none, self.large),
            5.9,
            "No timestamps, or too few to tell their tick.",
        );
    }
}
