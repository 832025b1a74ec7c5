//! What a person reads of two runs side by side: one screen of text, one HTML file.

mod figures;
mod page;
mod terminal;
pub(crate) mod words;

pub use page::render_comparison;
pub use terminal::comparison_text;
pub use words::comparison_headline;
