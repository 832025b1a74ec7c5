//! The parser against laws and against another parser.

mod laws;
mod oracle;
mod packets;
