//! What the terminals behind standard output and standard error can show: the only place that decides on width and colour.
//!
//! Colours are for terminals, unless `NO_COLOR` is set, `CLICOLOR` is 0 or `TERM` is `dumb`. Pipes and files get lines as they were written.

use console::Term;
use unbloat_text::Layout;

/// Of tables and texts that are always laid out, where nobody says how wide the reader's screen is.
#[cfg(feature = "runs")]
const UNKNOWN: usize = 200;
/// Narrower terminals are treated as this one: nothing can be read there.
const NARROWEST: usize = 20;

pub fn stdout() -> Layout {
    layout(&Term::stdout(), console::colors_enabled())
}

pub fn stderr() -> Layout {
    layout(&Term::stderr(), console::colors_enabled_stderr())
}

fn layout(term: &Term, has_colours: bool) -> Layout {
    let size = term.size_checked().filter(|_| term.is_term());
    Layout {
        columns: size.map(|(_, columns)| usize::from(columns).max(NARROWEST)),
        has_colours,
    }
}

/// Columns of the terminal behind standard output; 200 if there is none.
#[cfg(feature = "runs")]
pub fn width() -> usize {
    stdout().columns.unwrap_or(UNKNOWN)
}
