//! A running experiment as a person or a script watches it.
//!
//! Whoever runs it keeps a [`Snapshot`] up to date behind a mutex; [`watch`] looks at it some times a second, from a thread of
//! its own, and draws it in the terminal or prints it as a line of JSON. All but the terminal itself is pure: [`Live`] turns
//! snapshots into rates and history, [`draw`] turns these into a frame.
//!
//! [`host`] does the same for the layers of this host.

mod history;
pub mod host;
mod keys;
mod line;
mod screen;
mod shown;
mod view;
mod watch;

pub use history::Live;
pub use line::{Line, line};
pub use screen::{Input, Screen};
pub use shown::LiveView;
pub use unbloat_experiment::outcome::Snapshot;
pub use view::draw;
pub use watch::{Face, watch};
