//! `--metrics`: what a command that runs long tells Prometheus.

use crate::print::note;
use std::net::SocketAddr;
use unbloat_metrics::{Board, Page, Place, process_page, serve};

#[derive(clap::Args, Clone, Debug)]
pub struct MetricsArgs {
    /// Serve metrics for Prometheus at /metrics on this address; a port alone is on 127.0.0.1
    #[arg(long, value_name = "[ADDRESS:]PORT")]
    metrics: Option<Place>,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot serve metrics on {at}: {source}")]
pub struct MetricsError {
    at: SocketAddr,
    source: std::io::Error,
}

impl MetricsArgs {
    /// Serves what is put on the board, if metrics are wanted.
    pub fn board(&self, command: &'static str) -> Result<Option<Board>, MetricsError> {
        let board = Board::default();
        let shown = board.clone();
        let is_served = self.serve(command, move || shown.page())?;
        Ok(is_served.then_some(board))
    }

    /// Serves what `source` makes when it is asked for, if metrics are wanted.
    pub fn serve(
        &self,
        command: &'static str,
        source: impl Fn() -> Page + Send + Sync + 'static,
    ) -> Result<bool, MetricsError> {
        let Some(place) = self.metrics else {
            return Ok(false);
        };
        let page = move || {
            let mut page = process_page(env!("CARGO_PKG_VERSION"), command);
            page.extend(source());
            page
        };
        let at = serve(place, page).map_err(|error| MetricsError {
            at: place.address(),
            source: error,
        })?;
        note!("unbloat: metrics at http://{at}/metrics");
        Ok(true)
    }
}
