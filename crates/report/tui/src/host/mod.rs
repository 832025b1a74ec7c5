//! Where this host's packets wait, as a person or a script sees it.

mod history;
mod line;
mod view;

pub use history::HostLive;
pub use line::{HostLine, host_line};
pub use view::draw_host;
