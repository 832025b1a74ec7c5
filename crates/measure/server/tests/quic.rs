//! HTTP/3, and what an address gets that has not been proved.

mod common;

use bytes::{Buf, Bytes};
use common::Running;
use quinn::crypto::rustls::QuicClientConfig;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;
use unbloat_server::{Limits, Options};
use unbloat_testkit::until;

/// Who the server is does not matter here.
#[derive(Debug)]
enum Verifier {
    Accepts,
    /// Refuses after so long that the handshake stays half done.
    Undecided,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match self {
            Verifier::Accepts => Ok(ServerCertVerified::assertion()),
            Verifier::Undecided => {
                std::thread::sleep(Duration::from_secs(6));
                Err(rustls::Error::DecryptError)
            }
        }
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ECDSA_NISTP256_SHA256]
    }
}

async fn connect(
    to: SocketAddr,
) -> Result<(quinn::Endpoint, quinn::Connection), quinn::ConnectionError> {
    connect_as(to, Verifier::Accepts).await
}

async fn connect_as(
    to: SocketAddr,
    verifier: Verifier,
) -> Result<(quinn::Endpoint, quinn::Connection), quinn::ConnectionError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let crypto = QuicClientConfig::try_from(tls).unwrap();
    let mut endpoint = quinn::Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
    endpoint.set_default_client_config(quinn::ClientConfig::new(Arc::new(crypto)));
    let connection = endpoint.connect(to, "localhost").unwrap().await?;
    Ok((endpoint, connection))
}

fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(future)
}

#[test]
fn small_large_and_upload_go_over_http3() {
    let server = Running::new(&Options::loopback());
    let id = server.session();
    block_on(async {
        let (_endpoint, quic) = connect(server.at.quic).await.unwrap();
        let (mut driver, mut http) = h3::client::new(h3_quinn::Connection::new(quic))
            .await
            .unwrap();
        tokio::spawn(async move { driver.wait_idle().await });
        let mut ask = async |method: &str, path: String, body: usize| {
            let uri = format!("https://localhost{path}");
            let request = hyper::Request::builder()
                .method(method)
                .uri(uri)
                .body(())
                .unwrap();
            let mut stream = http.send_request(request).await.unwrap();
            if body > 0 {
                stream.send_data(Bytes::from(vec![1; body])).await.unwrap();
            }
            stream.finish().await.unwrap();
            let status = stream.recv_response().await.unwrap().status();
            let mut received = Vec::new();
            while let Some(mut data) = stream.recv_data().await.unwrap() {
                received.extend_from_slice(&data.copy_to_bytes(data.remaining()));
            }
            (status.as_u16(), received)
        };
        assert_eq!(ask("GET", "/small".to_owned(), 0).await.1.len(), 1);
        let path = format!("/large?bytes=2000001&session={id}&flow=1");
        assert_eq!(ask("GET", path, 0).await.1.len(), 2_000_001);
        let (status, answer) = ask("POST", "/upload".to_owned(), 500_003).await;
        assert_eq!(
            (status, answer),
            (200, b"{\"received_bytes\":500003}".to_vec())
        );
        assert_eq!(ask("GET", "/nothing".to_owned(), 0).await.0, 404);
    });
}

/// Passes on what the client sends, keeps what the server answers, and says how much each was.
fn relay(server: SocketAddr, listen: UdpSocket) -> (usize, usize) {
    let out = UdpSocket::bind("127.0.0.1:0").unwrap();
    out.connect(server).unwrap();
    listen
        .set_read_timeout(Some(Duration::from_millis(1500)))
        .unwrap();
    out.set_read_timeout(Some(Duration::from_millis(50)))
        .unwrap();
    let (mut sent, mut answered) = (0, 0);
    let mut packet = [0; 2048];
    while let Ok(length) = listen.recv(&mut packet) {
        sent += out.send(&packet[..length]).unwrap();
        while let Ok(came) = out.recv(&mut packet) {
            answered += came;
            assert!(answered <= sent, "{answered} bytes out for {sent} in");
        }
    }
    (sent, answered)
}

#[test]
fn an_unproven_address_gets_no_more_over_quic_than_came_from_it() {
    let server = Running::new(&Options::loopback());
    let listen = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = listen.local_addr().unwrap();
    let to = server.at.quic;
    let relayed = std::thread::spawn(move || relay(to, listen));
    let connected =
        block_on(async { tokio::time::timeout(Duration::from_secs(3), connect(at)).await });
    assert!(connected.is_err(), "no answer came through");
    let (sent, answered) = relayed.join().unwrap();
    assert!(sent >= 1200 && answered > 0 && answered <= sent);
}

#[test]
fn garbage_over_quic_is_never_answered_with_more() {
    let server = Running::new(&Options::loopback());
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(server.at.quic).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_millis(20)))
        .unwrap();
    let mut random = 1_u32;
    let mut packet = [0; 2048];
    for length in [1, 5, 20, 21, 22, 40, 100, 1199, 1200, 1201, 1472] {
        // Short header, Initial, Handshake, 0-RTT, Retry of version 1, and a version that is none.
        for (first, version) in [
            (0x40, 1),
            (0xc0, 1),
            (0xe0, 1),
            (0xd0, 1),
            (0xf0, 1),
            (0xc0, 0x0a0a_0a0a_u32),
        ] {
            for byte in &mut packet[..length] {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *byte = (random >> 24) as u8;
            }
            packet[0] = first | (packet[0] & 0x0f);
            packet[1..5].copy_from_slice(&version.to_be_bytes());
            // Ids of eight bytes, as they ought to be.
            (packet[5], packet[14]) = (8, 8);
            socket.send(&packet[..length]).unwrap();
            let mut answered = 0;
            while let Ok(came) = socket.recv(&mut [0; 2048]) {
                answered += came;
            }
            assert!(
                answered <= length,
                "{answered} bytes for {length} of {first:#x}"
            );
        }
    }
}

/// HEADERS and SETTINGS that claim 4 GiB (RFC 9114, 7.1): type, length of eight bytes.
const LONG_HEADERS: [u8; 9] = [1, 0xc0, 0, 0, 1, 0, 0, 0, 0];
const LONG_SETTINGS: [u8; 10] = [0, 4, 0xc0, 0, 0, 1, 0, 0, 0, 0];

/// Sends until it is refused, and says by which error.
async fn sends(mut stream: quinn::SendStream, head: &[u8]) -> quinn::WriteError {
    let data = [7; 1 << 14];
    let mut all = head.to_vec();
    for _ in 0..(64 << 20) / data.len() {
        if let Err(error) = stream.write_all(&all).await {
            return error;
        }
        all = data.to_vec();
    }
    panic!("64 MiB of a header were taken");
}

#[test]
fn headers_of_any_claimed_length_are_refused_and_not_held() {
    let server = Running::new(&Options::loopback());
    block_on(async {
        let (_endpoint, quic) = connect(server.at.quic).await.unwrap();
        for _ in 0..4 {
            let (sending, _receiving) = quic.open_bi().await.unwrap();
            let error = sends(sending, &LONG_HEADERS).await;
            let expected = quinn::WriteError::Stopped(0x107_u32.into());
            assert_eq!(error, expected);
        }
        // The connection is none the worse for it.
        assert!(quic.close_reason().is_none());
    });
}

#[test]
fn a_control_frame_of_any_claimed_length_ends_its_connection() {
    let server = Running::new(&Options::loopback());
    block_on(async {
        let (_endpoint, quic) = connect(server.at.quic).await.unwrap();
        let sending = quic.open_uni().await.unwrap();
        sends(sending, &LONG_SETTINGS).await;
        match quic.closed().await {
            quinn::ConnectionError::ApplicationClosed(closed) => {
                assert_eq!(closed.error_code, 0x107_u32.into());
            }
            other => panic!("{other}"),
        }
    });
}

#[test]
fn half_a_handshake_holds_no_place_against_those_who_come() {
    let limits = Limits {
        connections: 8,
        connections_per_address: 8,
        ..Limits::default()
    };
    let server = Running::new(&Options {
        limits,
        ..Options::loopback()
    });
    let at = server.at.quic;
    let halves: Vec<_> = (0..8)
        .map(|_| {
            std::thread::spawn(move || {
                block_on(async { connect_as(at, Verifier::Undecided).await.is_err() })
            })
        })
        .collect();
    until("handshakes wait", || server.counts().connections > 0);
    std::thread::sleep(Duration::from_millis(500));
    // They leave room for others, and give way once they were silent for a second.
    assert!(server.counts().connections <= 2, "{:?}", server.counts());
    let mut others: Vec<_> = (0..8).map(|_| server.connect()).collect();
    std::thread::sleep(Duration::from_millis(1_500));
    assert_eq!(server.ask("GET", "/small").status, 200);
    others.clear();
    assert!(halves.into_iter().all(|half| half.join().unwrap()));
}

#[test]
fn what_comes_on_streams_that_nobody_reads_is_not_kept() {
    let server = Running::new(&Options::loopback());
    block_on(async {
        let (_endpoint, quic) = connect(server.at.quic).await.unwrap();
        let mut streams = Vec::new();
        for kind in [0_u8, 2, 3] {
            let mut stream = quic.open_uni().await.unwrap();
            stream.write_all(&[kind]).await.unwrap();
            streams.push(stream);
        }
        // SETTINGS without a setting.
        streams[0].write_all(&[4, 0]).await.unwrap();
        // More than the window of a stream, and of all of them.
        let much = vec![0; 12 << 20];
        for stream in &mut streams[1..] {
            let written = tokio::time::timeout(Duration::from_secs(30), stream.write_all(&much));
            written.await.expect("it is read").unwrap();
        }
    });
}
