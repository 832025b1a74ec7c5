//! Where this host's packets wait, as a person or a script sees it.

mod controls;
mod help;
mod history;
mod line;
mod shown;
mod view;

use controls::Controls;
pub use history::HostLive;
pub use line::{HostLine, host_line};
pub use shown::HostView;
