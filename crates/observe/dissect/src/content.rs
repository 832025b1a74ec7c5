//! Classes of HTTP content.
//!
//! # References
//! SIGCOMM'13 §7.1: shares of bytes by content type.
//!
//! # Where we differ
//! The paper names the classes and not the types within them; the table in [`ContentClass::of`] is
//! ours. It counts octet streams as video, most of them being players' range requests; so do we,
//! and [`is_octet_stream`] lets a reader take them out again. The paper's "zip" is any content
//! that deflate packed as a whole, Android packages among it.

use crate::http_head::without_parameters;

/// What kind of content a media type is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContentClass {
    Video,
    Image,
    Text,
    Zip,
    Audio,
    /// A media type of no other class.
    Other,
    /// No media type, or none that can be read.
    Unknown,
}

impl ContentClass {
    pub const ALL: [ContentClass; 7] = [
        ContentClass::Video,
        ContentClass::Image,
        ContentClass::Text,
        ContentClass::Zip,
        ContentClass::Audio,
        ContentClass::Other,
        ContentClass::Unknown,
    ];

    /// The class of a `Content-Type` value, with or without parameters, in any case; an empty one
    /// stands for none.
    pub fn of(content_type: &[u8]) -> ContentClass {
        let Some((kind, subtype)) = split(content_type) else {
            return ContentClass::Unknown;
        };
        let is = |name: &str| kind.eq_ignore_ascii_case(name.as_bytes());
        if is("video") {
            ContentClass::Video
        } else if is("image") {
            ContentClass::Image
        } else if is("text") {
            ContentClass::Text
        } else if is("audio") {
            ContentClass::Audio
        } else if is("application") {
            ContentClass::of_application(subtype)
        } else {
            ContentClass::Other
        }
    }

    fn of_application(subtype: &[u8]) -> ContentClass {
        const VIDEO: [&str; 2] = ["octet-stream", "mp4"];
        const TEXT: [&str; 6] = [
            "json",
            "xml",
            "javascript",
            "x-javascript",
            "ecmascript",
            "x-www-form-urlencoded",
        ];
        const ZIP: [&str; 7] = [
            "zip",
            "x-zip",
            "x-zip-compressed",
            "gzip",
            "x-gzip",
            "java-archive",
            "vnd.android.package-archive",
        ];
        let is_in = |names: &[&str]| {
            names
                .iter()
                .any(|n| subtype.eq_ignore_ascii_case(n.as_bytes()))
        };
        // Structured syntax suffixes (RFC 6839 §3).
        let ends_in = |suffixes: &[&str]| suffixes.iter().any(|s| ends_with(subtype, s));
        if is_in(&VIDEO) {
            ContentClass::Video
        } else if is_in(&TEXT) || ends_in(&["+json", "+xml"]) {
            ContentClass::Text
        } else if is_in(&ZIP) || ends_in(&["+zip", "+gzip"]) {
            ContentClass::Zip
        } else {
            ContentClass::Other
        }
    }

    /// The name in tables and reports.
    pub fn name(self) -> &'static str {
        match self {
            ContentClass::Video => "video",
            ContentClass::Image => "image",
            ContentClass::Text => "text",
            ContentClass::Zip => "zip",
            ContentClass::Audio => "audio",
            ContentClass::Other => "other",
            ContentClass::Unknown => "unknown",
        }
    }
}

/// Whether the content is a byte stream of no stated kind, which the paper counts as video and
/// puts at 12.9 % of the video bytes.
pub fn is_octet_stream(content_type: &[u8]) -> bool {
    without_parameters(content_type).eq_ignore_ascii_case(b"application/octet-stream")
}

fn split(content_type: &[u8]) -> Option<(&[u8], &[u8])> {
    let media_type = without_parameters(content_type);
    let slash = media_type.iter().position(|&b| b == b'/')?;
    let (kind, subtype) = (&media_type[..slash], &media_type[slash + 1..]);
    (!kind.is_empty() && !subtype.is_empty()).then_some((kind, subtype))
}

fn ends_with(text: &[u8], suffix: &str) -> bool {
    text.len()
        .checked_sub(suffix.len())
        .is_some_and(|at| text[at..].eq_ignore_ascii_case(suffix.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_fall_into_the_papers_classes() {
        for (content_type, name) in [
            ("video/mp4", "video"),
            ("Application/Octet-Stream", "video"),
            ("image/webp", "image"),
            ("text/html; charset=utf-8", "text"),
            ("application/JSON", "text"),
            ("application/rss+xml;x=y", "text"),
            ("application/vnd.android.package-archive", "zip"),
            ("application/epub+zip", "zip"),
            ("audio/mpeg", "audio"),
            ("application/pdf", "other"),
            ("font/woff2", "other"),
            ("", "unknown"),
            ("; charset=utf-8", "unknown"),
            ("html", "unknown"),
            ("text/", "unknown"),
        ] {
            let class = ContentClass::of(content_type.as_bytes());
            assert_eq!(class.name(), name, "{content_type:?}");
        }
    }

    #[test]
    fn octet_streams_are_video_that_can_be_taken_out() {
        let octets = b"application/octet-stream; q=1";
        assert_eq!(ContentClass::of(octets), ContentClass::Video);
        assert!(is_octet_stream(octets));
        assert!(!is_octet_stream(b"video/mp4"));
    }
}
