//! HTTP content by class (§7.1).

use crate::findings::Findings;
use crate::panel::Panel;
use crate::view::View;
use unbloat_table::Row;
use unbloat_trace::tables::HttpRow;

/// The classes in the study's order, with its share of HTTP bytes.
const CLASSES: [(&str, f64); 7] = [
    ("video", 37.8),
    ("image", 19.5),
    ("text", 11.8),
    ("zip", 8.3),
    ("audio", 6.5),
    ("other", 5.6),
    ("unknown", 10.5),
];

#[derive(Default)]
pub(crate) struct Http {
    bytes: [u64; CLASSES.len()],
    responses: u64,
}

impl Panel for Http {
    fn table(&self) -> &'static str {
        HttpRow::NAME
    }

    fn add(&mut self, view: &View) {
        let (class, bytes) = (
            view.column(HttpRow::content_class),
            view.column(HttpRow::body_bytes),
        );
        let status = view.column(HttpRow::status);
        // A request that nobody answered has no status.
        for row in view.rows().filter(|&row| status.u64(row).is_some()) {
            let known = CLASSES.iter().position(|(name, _)| class.is(row, name));
            let at = known.unwrap_or(CLASSES.len() - 1);
            self.bytes[at] += bytes.u64(row).unwrap_or(0);
            self.responses += 1;
        }
    }

    fn finish(&self, found: &mut Findings) {
        let total: u64 = self.bytes.iter().sum();
        let doc =
            "Bytes of response bodies by the class of their Content-Type; unencrypted HTTP/1 only.";
        let mut group = found.group("HTTP content (§7.1)");
        group.count("responses seen", self.responses, "", doc);
        for ((class, paper), bytes) in CLASSES.into_iter().zip(self.bytes) {
            group.share(class, (bytes, total), paper, doc);
        }
    }
}
