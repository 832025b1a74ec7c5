//! Messages about certificates and their authority.

use crate::print::note;
use jiff::Timestamp;
use unbloat_acme::Event;
use unbloat_units::{Delta, Time};
use unbloat_untrusted::one_line;

/// On standard error. Authorities choose their words, so they are made harmless.
pub fn tell(event: &Event) {
    match event {
        Event::Renewed { until } => note!("unbloat: new certificate, valid until {}", date(*until)),
        Event::NotStored { error } => note!(
            "unbloat: the certificate is not kept for the next start: {}",
            one_line(&error.to_string())
        ),
        Event::Failed { error, retry } => note!(
            "unbloat: no new certificate: {}; serving the previous one, trying again in {}",
            one_line(&error.to_string()),
            span(*retry)
        ),
    }
}

fn date(time: Time) -> String {
    let date = Timestamp::from_second(time.as_ns() / 1_000_000_000);
    date.map_or("an odd date".to_owned(), |date| date.to_string())
}

fn span(span: Delta) -> String {
    let seconds = span.as_secs();
    match seconds {
        ..120.0 => format!("{seconds:.0} s"),
        ..7200.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.0} h", seconds / 3600.0),
    }
}
