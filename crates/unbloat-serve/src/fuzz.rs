//! For the fuzz target: one connection of any bytes.

use crate::listen::http;
use crate::options::Limits;
use crate::peer::Peer;
use crate::shared::Shared;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
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
        let (ended, ()) = tokio::join!(timeout(ENDS, http(&shared, server, peer)), talk);
        assert!(ended.is_ok(), "the client is gone, the connection is not");
    });
}
