//! Flow durations, how flows end, and what a late close costs the radio (§4.1, Fig. 3 and 4).

use crate::SummaryParams;
use crate::findings::Findings;
use crate::panel::Panel;
use crate::view::View;
use unbloat_stats::LogHistogram;
use unbloat_trace::flows::{self, ClosingColumns, VolumeColumns};

pub(crate) struct Durations {
    tail_s: f64,
    durations_s: LogHistogram,
    gaps_s: LogHistogram,
    late_closes_s: LogHistogram,
    flows: u64,
    fin: u64,
    rst: u64,
    syn_only: u64,
    delayed: u64,
    energy_mj: f64,
}

impl Durations {
    pub(crate) fn new(params: &SummaryParams) -> Durations {
        Durations {
            tail_s: params.tail.as_secs(),
            durations_s: LogHistogram::new(),
            gaps_s: LogHistogram::new(),
            late_closes_s: LogHistogram::new(),
            flows: 0,
            fin: 0,
            rst: 0,
            syn_only: 0,
            delayed: 0,
            energy_mj: 0.0,
        }
    }

    /// Fig. 4 for the median late close: the radio stays on for a tail after the last payload, goes
    /// idle, and is woken for the FIN and another tail.
    fn radio_example(&self) -> Vec<(f64, f64)> {
        let Some(close) = self.late_closes_s.quantile(0.5) else {
            return Vec::new();
        };
        let tail = self.tail_s;
        let states = [(0.0, 1.0), (tail, 1.0), (tail, 0.0), (close, 0.0)];
        let woken = [(close, 1.0), (close + tail, 1.0), (close + tail, 0.0)];
        states.into_iter().chain(woken).collect()
    }
}

impl Panel for Durations {
    fn table(&self) -> &'static str {
        flows::NAME
    }

    fn add(&mut self, view: &View) {
        let (duration, gap) = (
            view.column(VolumeColumns::duration_ms),
            view.column(ClosingColumns::last_payload_gap_ms),
        );
        let (end, syn_only) = (
            view.column(VolumeColumns::end_cause),
            view.column(VolumeColumns::syn_only),
        );
        let (late, delay) = (
            view.column(ClosingColumns::delayed_close),
            view.column(ClosingColumns::close_delay_ms),
        );
        let energy = view.column(ClosingColumns::close_energy_mj);
        for row in view.tcp_rows() {
            self.flows += 1;
            if let Some(ms) = duration.f64(row) {
                self.durations_s.record(ms / 1e3);
            }
            if let Some(ms) = gap.f64(row) {
                self.gaps_s.record(ms / 1e3);
            }
            self.syn_only += u64::from(syn_only.is_true(row));
            self.fin += u64::from(end.is(row, "fin"));
            self.rst += u64::from(end.is(row, "rst"));
            if late.is_true(row) {
                self.delayed += 1;
                self.energy_mj += energy.f64(row).unwrap_or(0.0);
                self.late_closes_s
                    .record(delay.f64(row).unwrap_or(0.0) / 1e3);
            }
        }
    }

    fn finish(&self, found: &mut Findings) {
        let mut group = found.group("Flow duration and end (Fig. 3, 4)");
        let n = self.durations_s.count();
        let mut within = |metric: &str, seconds: f64, shorter: bool, paper: f64| {
            let share = self.durations_s.share_at_most(seconds);
            let share = share.map(|s| 100.0 * if shorter { s } else { 1.0 - s });
            let doc = "Duration: first to last packet of the flow.";
            group.number(metric, share, ("%", Some(paper)), n, doc);
        };
        within("flows of at most 5 s", 5.0, true, 48.1);
        within("flows longer than 3 min", 180.0, false, 6.8);
        within("flows longer than 10 min", 600.0, false, 2.8);
        let ended = "How the flow was ended; the rest was silent too long or still open at the end of the capture.";
        group.share("ended by FIN", (self.fin, self.flows), 86.2, ended);
        group.share("ended by RST", (self.rst, self.flows), 5.4, ended);
        group.share(
            "SYNs only",
            (self.syn_only, self.flows),
            8.5,
            "No packet but SYNs was seen.",
        );
        let tail = format!(
            "The FIN or RST came more than the radio's tail ({} s) after the last payload, so that an idle radio is woken for it.",
            self.tail_s
        );
        group.share(
            "FIN or RST delayed beyond the tail",
            (self.delayed, self.flows),
            23.1,
            &tail,
        );
        let median = (&self.late_closes_s, 0.5);
        group.quantile("median delay of those", median, ("s", None), &tail);
        let energy = (self.delayed > 0).then_some(self.energy_mj / 1e3);
        group.number(
            "radio energy for them",
            energy,
            ("J", None),
            self.delayed,
            "Promotion and tail that each late close costs, by the run's power model.",
        );
        found.cdf("3", "flow duration", &self.durations_s);
        found.cdf("3", "last payload to last packet", &self.gaps_s);
        let marks = vec![(5.0, 0.481), (180.0, 0.932), (600.0, 0.972)];
        found.curve("3", "paper: flow duration", marks);
        found.curve(
            "3",
            "paper: last payload to last packet",
            vec![(10.0, 0.769)],
        );
        found.curve("4", "radio", self.radio_example());
    }
}
