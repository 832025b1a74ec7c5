//! What a person reads of a run: the verdict in the terminal, and one HTML file.
//!
//! The HTML file is self-contained: it fetches nothing, and its own policy forbids it to. It draws
//! the figures of the SIGCOMM 2013 study for the run at hand with the study's values beside them,
//! and time lines of a bounded number of flows, so that it stays below
//! [`RenderOptions::LARGEST_FILE`] whether the run has 100 flows or 50 million. Charts are drawn by
//! uPlot (MIT licence, `assets/uPlot.LICENSE`), embedded as released.

mod campaign;
mod chosen;
mod columns;
mod comparison;
mod curve;
mod data;
mod error;
mod flows;
mod html;
mod location;
mod model;
mod monitor;
mod numbers;
mod options;
mod outcome;
mod page;
mod paper;
mod render;
mod series;
mod sim;
mod terminal;
mod tested;

pub use chosen::Candidates;
pub use comparison::{comparison_headline, comparison_text, render_comparison};
pub use error::ReportError;
pub use monitor::{MonitorPage, render_monitor};
pub use options::RenderOptions;
pub use outcome::outcome_headline;
pub use paper::{paper_headline, paper_text, render_paper};
pub use render::{Rendered, render};
pub use terminal::verdict_text;
