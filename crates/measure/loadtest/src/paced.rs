//! TLS that holds back no more of an upload than a millisecond of its rate.

use crate::upload::Pace;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio_rustls::client::TlsStream;
use unbloat_stream_limits::Hook;

/// Large records cost less, small ones are less in the way of probes on the same connection. Without a pace, rustls's own bound holds.
pub struct Paced(pub Option<Arc<Pace>>);

impl<S> Hook<TlsStream<S>> for Paced {
    fn poll_room(&mut self, tls: &mut TlsStream<S>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(pace) = &self.0 {
            let (_, session) = tls.get_mut();
            session.set_buffer_limit(Some(pace.tls_buffer()));
        }
        Poll::Ready(Ok(()))
    }
}
