//! Handshake RTT, split at the capture point (§4.2, Fig. 7 and 8).

use crate::findings::Findings;
use crate::panel::Panel;
use crate::view::View;
use unbloat_stats::LogHistogram;
use unbloat_trace::flows::{self, HandshakeColumns};

#[derive(Default)]
pub(crate) struct Handshakes {
    client: LogHistogram,
    proxy: LogHistogram,
    server: LogHistogram,
    whole: LogHistogram,
    ratio: LogHistogram,
    server_further: u64,
}

impl Panel for Handshakes {
    fn table(&self) -> &'static str {
        flows::NAME
    }

    fn add(&mut self, view: &View) {
        let (up, down) = (
            view.column(HandshakeColumns::handshake_up_ms),
            view.column(HandshakeColumns::handshake_down_ms),
        );
        let (state, pep) = (
            view.column(HandshakeColumns::handshake),
            view.column(HandshakeColumns::pep),
        );
        for row in view.tcp_rows().filter(|&row| state.is(row, "complete")) {
            let (Some(up), Some(down)) = (up.f64(row), down.f64(row)) else {
                continue;
            };
            self.client.record(down);
            if pep.is_true(row) {
                self.proxy.record(up);
                continue;
            }
            self.server.record(up);
            self.whole.record(up + down);
            self.server_further += u64::from(up > down);
            if down > 0.0 {
                self.ratio.record(up / down);
            }
        }
    }

    fn finish(&self, found: &mut Findings) {
        let mut group = found.group("Handshake RTT (Fig. 7, 8)");
        let split = "SYN, SYN-ACK and ACK seen at t1, t2, t3, none of them repeated: towards the server t2-t1, towards the client t3-t2.";
        let mut median = |metric: &str, histogram: &LogHistogram| {
            group.quantile(metric, (histogram, 0.5), ("ms", None), split);
        };
        median("median capture point to client (C-M)", &self.client);
        median(
            "median capture point to proxy ports 80, 8080 (M-P)",
            &self.proxy,
        );
        median(
            "median capture point to server, other ports (M-S)",
            &self.server,
        );
        let part = (self.server_further, self.server.count());
        group.share(
            "server further away than client",
            part,
            55.0,
            "Other ports than 80 and 8080: t2-t1 > t3-t2.",
        );
        let curves = [
            ("client to capture point (C-M)", &self.client),
            ("capture point to proxy ports (M-P)", &self.proxy),
            ("capture point to server (M-S)", &self.server),
            ("client to server (C-S)", &self.whole),
        ];
        for (series, histogram) in curves {
            found.cdf("7", series, histogram);
        }
        let marks = vec![(30.0, 0.05), (70.0, 0.5), (467.0, 0.95)];
        found.curve("7", "paper: client to server (C-S)", marks);
        found.cdf("8", "M-S / C-M", &self.ratio);
        found.curve("8", "paper: M-S / C-M", vec![(1.0, 0.45)]);
    }
}
