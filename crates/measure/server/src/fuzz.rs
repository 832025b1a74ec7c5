//! For the fuzz targets: one connection of any bytes, and its parts for themselves.

use crate::listen::http;
use crate::options::Limits;
use crate::peer::Peer;
use crate::query::Query;
use crate::shared::Shared;
use crate::thin::Frames;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{
    AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf, duplex,
};
use tokio::time::timeout;

/// The most that is read of what the server answers; then the client goes.
const READS: usize = 256 << 10;

/// Long enough on any machine for a connection whose client is gone.
const ENDS: Duration = Duration::from_secs(10);

/// Serves a client that sends `bytes` in the clear, over HTTP/1.1 or HTTP/2 as they say, reads a little, and goes.
pub fn connection(bytes: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    runtime.expect("threads are not needed").block_on(async {
        let shared = Arc::new(Shared::new(Limits::default(), &[], Some(2112)));
        let from = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        let peer = Arc::new(Peer::new(1, from, false, None));
        let (mut client, server) = duplex(64 << 10);
        let talk = async move {
            // The server may go first, or wait for more than ever comes.
            let _ = timeout(Duration::from_millis(20), client.write_all(bytes)).await;
            let _ = client.shutdown().await;
            let mut answer = vec![0; READS];
            let _ = timeout(Duration::from_millis(5), client.read_exact(&mut answer)).await;
        };
        let (ended, ()) =
            tokio::join!(timeout(ENDS, http(&shared, Unvectored(server), peer)), talk);
        assert!(ended.is_ok(), "the client is gone, the connection is not");
    });
}

/// A stream without vectored writes.
///
/// With them, a malformed request during the response to an earlier one fails a debug assertion of hyper 1.12: see SECURITY.md.
struct Unvectored(DuplexStream);

impl AsyncRead for Unvectored {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Unvectored {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

/// What is left of WebSocket frames whose load is left out, however they are cut, and how much load there was.
pub fn thin(bytes: &[u8], pieces: usize) -> (Vec<u8>, u64) {
    let (mut frames, mut thin) = (Frames::default(), Vec::new());
    let pieces = bytes.chunks(pieces.max(1));
    let load = pieces.map(|piece| frames.take(piece, &mut thin)).sum();
    (thin, load)
}

/// What a query asks for; why it is refused, in words.
pub fn query(text: &str) -> Result<(), String> {
    let query = Query::parse(text).map_err(|refused| refused.to_string())?;
    let ms = query.unsent_ms;
    assert!(ms.is_none_or(|ms| (1..=1000).contains(&ms)));
    let control = query.congestion_control.unwrap_or_default();
    assert!(control.len() <= 15 && control.bytes().all(|byte| byte.is_ascii_graphic()));
    if let Some(session) = query.session {
        // As it is given out it is found again.
        let asked = Query::parse(&format!("session={session}"));
        assert_eq!(asked.map(|asked| asked.session), Ok(Some(session)));
    }
    Ok(())
}
