//! What a request asks for after its question mark.

use crate::session::Id;

/// ndt7 allows as much (v0.11, "Query string parameters").
pub const LONGEST: usize = 4096;

/// Keys that we do not know are others' metadata and passed over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    pub session: Option<Id>,
    pub flow: Option<u16>,
    pub bytes: Option<u64>,
    /// 1 to 1,000.
    pub unsent_ms: Option<u16>,
    pub congestion_control: Option<String>,
    pub token: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    #[error("the query is longer than {LONGEST} bytes")]
    Long,
    #[error("{0} occurs twice in the query")]
    Twice(&'static str),
    #[error("{key} must be {wants}")]
    Value {
        key: &'static str,
        wants: &'static str,
    },
}

impl Query {
    pub fn parse(text: &str) -> Result<Query, QueryError> {
        if text.len() > LONGEST {
            return Err(QueryError::Long);
        }
        let mut query = Query::default();
        for (key, value) in form_urlencoded::parse(text.as_bytes()) {
            query.take(&key, &value)?;
        }
        Ok(query)
    }

    fn take(&mut self, key: &str, value: &str) -> Result<(), QueryError> {
        match key {
            "session" => {
                const WANTS: &str = "32 hexadecimal digits";
                set(&mut self.session, "session", WANTS, Id::parse(value))
            }
            "flow" => {
                const WANTS: &str = "a number from 0 to 65535";
                set(&mut self.flow, "flow", WANTS, number(value))
            }
            "bytes" => set(&mut self.bytes, "bytes", "a number", number(value)),
            "unsent_ms" => {
                const WANTS: &str = "a number from 1 to 1000";
                let ms = number(value).filter(|ms| (1..=1000).contains(ms));
                set(&mut self.unsent_ms, "unsent_ms", WANTS, ms)
            }
            "congestion_control" => {
                const WANTS: &str = "a name of 1 to 15 letters, digits, - or _";
                let name = is_name(value).then(|| value.to_owned());
                set(
                    &mut self.congestion_control,
                    "congestion_control",
                    WANTS,
                    name,
                )
            }
            "token" | "access_token" => {
                set(&mut self.token, "token", "a token", Some(value.to_owned()))
            }
            _ => Ok(()),
        }
    }
}

fn set<T>(
    place: &mut Option<T>,
    key: &'static str,
    wants: &'static str,
    value: Option<T>,
) -> Result<(), QueryError> {
    if place.is_some() {
        return Err(QueryError::Twice(key));
    }
    *place = Some(value.ok_or(QueryError::Value { key, wants })?);
    Ok(())
}

/// Digits alone: `parse` would take a sign too.
fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// The kernel's names have at most 15 bytes (`TCP_CA_NAME_MAX`).
fn is_name(text: &str) -> bool {
    let fits = (1..=15).contains(&text.len());
    fits && text
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_keys_are_read_and_others_passed_over() {
        let id = "00112233445566778899aabbccddeeff";
        let text = format!(
            "session={id}&flow=7&bytes=12&unsent_ms=5&congestion_control=cubic&token=a%20b&client_name=x"
        );
        let query = Query::parse(&text).unwrap();
        assert_eq!(query.session.unwrap().to_string(), id);
        assert_eq!((query.flow, query.bytes), (Some(7), Some(12)));
        assert_eq!(query.unsent_ms, Some(5));
        assert_eq!(query.congestion_control.as_deref(), Some("cubic"));
        assert_eq!(query.token.as_deref(), Some("a b"));
        assert_eq!(Query::parse("").unwrap(), Query::default());
    }

    #[test]
    fn what_is_none_of_its_kind_is_refused() {
        let refused = |text: &str| Query::parse(text).unwrap_err();
        assert_eq!(refused("flow=1&flow=1"), QueryError::Twice("flow"));
        assert_eq!(
            refused("token=1&access_token=1"),
            QueryError::Twice("token")
        );
        assert_eq!(refused(&"x".repeat(4097)), QueryError::Long);
        let bad = [
            "flow=65536",
            "flow=+1",
            "flow=",
            "bytes=-1",
            "bytes=18446744073709551616",
            "unsent_ms=0",
            "unsent_ms=1001",
            "congestion_control=",
            "congestion_control=cubic%00",
            "congestion_control=a234567890123456",
            "session=0011",
            "session=zz112233445566778899aabbccddeeff",
        ];
        for text in bad {
            assert!(matches!(refused(text), QueryError::Value { .. }), "{text}");
        }
    }
}
