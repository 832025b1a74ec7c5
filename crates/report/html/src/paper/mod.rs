//! Figures of papers beside ours: text for a terminal, and one HTML file a paper.

mod data;
mod page;
mod terminal;
mod words;

pub use page::render_paper;
pub use terminal::{paper_headline, paper_text};
