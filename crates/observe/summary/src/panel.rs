//! A panel: one question of the study, asked of the tables in one pass.

use crate::SummaryParams;
use crate::findings::Findings;
use crate::panels::*;
use crate::view::View;

pub(crate) trait Panel {
    /// The name of the table that it reads.
    fn table(&self) -> &'static str;
    /// More rows of it.
    fn add(&mut self, view: &View);
    fn finish(&self, found: &mut Findings);
}

/// All panels in the order of their rows. To add one: a file in `panels/`, and a line here.
pub(crate) fn panels(params: &SummaryParams) -> Vec<Box<dyn Panel>> {
    vec![
        Box::new(protocols::Protocols::default()),
        Box::new(sizes::Sizes::new(params)),
        Box::new(durations::Durations::new(params)),
        Box::new(rates::Rates::default()),
        Box::new(concurrency::Concurrency::default()),
        Box::new(handshakes::Handshakes::default()),
        Box::new(promotion::Promotion::default()),
        Box::new(dns::Dns::default()),
        Box::new(added_delay::AddedDelay::new(params)),
        Box::new(rtt_in_flight::RttInFlight::new()),
        Box::new(in_flight::InFlight::new(params)),
        Box::new(retransmissions::Retransmissions::default()),
        Box::new(dup_acks::DupAcks::default()),
        Box::new(slow_starts::SlowStarts::default()),
        Box::new(table1::Table1::default()),
        Box::new(bandwidth::Bandwidth::default()),
        Box::new(utilisation::Utilisation::default()),
        Box::new(ticks::Ticks::default()),
        Box::new(receive_window::ReceiveWindow::default()),
        Box::new(limits::Limits::default()),
        Box::new(http::Http::default()),
        Box::new(radio::Radio::default()),
    ]
}
