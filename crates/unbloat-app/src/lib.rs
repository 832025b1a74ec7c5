//! Application protocols seen in cut payloads: DNS, HTTP/1, TLS and QUIC Initial.
