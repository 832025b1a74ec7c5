//! Which address of a name is used.
//!
//! # References
//! RFC 8305 (Happy Eyeballs): an address that is silent costs a quarter of a second, and one that refuses costs nothing.

use crate::error::TestError;
use crate::options::IpVersion;
use crate::ping::Pinger;
use crate::target::Origin;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tokio::net::TcpStream;
use tracing::debug;
use unbloat_os::clock::{Clock, monotonic};
use unbloat_units::Delta;

/// After which the next address is tried as well (RFC 8305, 5).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);
/// Addresses of a name that are tried.
const MOST: usize = 8;
/// For one address, where nothing else bounds it.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// An echo request may be lost.
const PINGS: u32 = 3;

/// What an attempt came to, and at which address.
pub type Attempted<T> = Result<(SocketAddr, T), (SocketAddr, io::Error)>;

/// The addresses of a name in the order in which they are tried; at least one.
pub async fn addresses(
    host: &str,
    port: u16,
    ip: Option<IpVersion>,
) -> Result<Vec<SocketAddr>, TestError> {
    let found = tokio::net::lookup_host((host, port)).await;
    let found = found.map_err(|source| TestError::Name {
        host: host.to_owned(),
        source,
    })?;
    let is_wanted = |address: &SocketAddr| match ip {
        None => true,
        Some(IpVersion::Four) => address.is_ipv4(),
        Some(IpVersion::Six) => address.is_ipv6(),
    };
    let found = in_turn(&found.filter(is_wanted).collect::<Vec<_>>());
    debug!(host, ?found, "name resolved");
    match found.is_empty() {
        false => Ok(found),
        true => Err(TestError::NoAddress {
            host: host.to_owned(),
        }),
    }
}

/// IPv6 and IPv4 in turn, the resolver's first choice first (RFC 8305, 4).
fn in_turn(found: &[SocketAddr]) -> Vec<SocketAddr> {
    let is_v6 = found.first().is_some_and(SocketAddr::is_ipv6);
    let (one, other): (Vec<_>, Vec<_>) = found.iter().partition(|to| to.is_ipv6() == is_v6);
    let pairs = (0..found.len()).flat_map(|i| [one.get(i), other.get(i)]);
    pairs.flatten().copied().take(MOST).collect()
}

/// The first address at which the attempt succeeds. The next one is tried when one has failed to answer, or has not yet answered in 250 ms. What an
/// address has answered, be it that its certificate is wrong, counts for the name.
pub async fn first<T, F>(
    addresses: &[SocketAddr],
    attempt: impl Fn(SocketAddr) -> F,
) -> Attempted<T>
where
    F: Future<Output = io::Result<T>>,
{
    first_of(addresses, attempt, ATTEMPT_DELAY).await
}

async fn first_of<T, F>(
    addresses: &[SocketAddr],
    attempt: impl Fn(SocketAddr) -> F,
    delay: Duration,
) -> Attempted<T>
where
    F: Future<Output = io::Result<T>>,
{
    let one = |to: SocketAddr| {
        let attempted = attempt(to);
        async move { (to, attempted.await) }
    };
    let (mut rest, mut running) = (addresses.iter(), FuturesUnordered::new());
    let mut failed: Vec<(SocketAddr, io::Error)> = Vec::new();
    loop {
        running.extend(rest.next().map(|to| one(*to)));
        let delay = match rest.as_slice().is_empty() {
            true => Duration::MAX,
            false => delay,
        };
        match tokio::time::timeout(delay, running.next()).await {
            Err(_) => {}
            Ok(Some((to, Ok(came)))) => {
                debug!(%to, "address chosen");
                return Ok((to, came));
            }
            Ok(Some((to, Err(error)))) if is_unreached(&error) => {
                debug!(%to, %error, "address does not answer");
                failed.push((to, error));
            }
            Ok(Some((to, Err(error)))) => return Err((to, error)),
            Ok(None) => {
                // One that refused is a host that is there.
                let told = failed.into_iter().min_by_key(|(_, error)| is_silent(error));
                return Err(told.expect("a name has an address"));
            }
        }
    }
}

/// It says nothing of the server, only of the way there.
fn is_unreached(error: &io::Error) -> bool {
    let others = [
        ErrorKind::ConnectionRefused,
        ErrorKind::ConnectionReset,
        ErrorKind::ConnectionAborted,
        ErrorKind::PermissionDenied,
    ];
    is_silent(error) || others.contains(&error.kind())
}

fn is_silent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::TimedOut
            | ErrorKind::NetworkUnreachable
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkDown
            | ErrorKind::AddrNotAvailable
    )
}

/// The address of a server at which a connection can be made. One that has no other is not asked.
///
/// # Errors
/// The name is unknown, or no address can be connected to.
pub fn reachable(origin: &Origin, ip: Option<IpVersion>) -> Result<SocketAddr, TestError> {
    blocking(async {
        let all = addresses(&origin.host, origin.port, ip).await?;
        if let [only] = all[..] {
            return Ok(only);
        }
        let connected = first(&all, |to| patiently(TcpStream::connect(to))).await;
        let (to, _) = connected.map_err(|(to, source)| TestError::Connect { to, source })?;
        Ok(to)
    })
}

/// The address of a host that answers echo requests of ICMP, or else its first. One that has no other is not asked.
///
/// # Errors
/// The name is unknown.
pub fn answering(host: &str, ip: Option<IpVersion>) -> Result<IpAddr, TestError> {
    blocking(async {
        let all = addresses(host, 0, ip).await?;
        let answered = match all[..] {
            [only] => Ok((only, ())),
            _ => first(&all, ping).await,
        };
        Ok(answered.map_or(all[0], |(to, ())| to).ip())
    })
}

async fn ping(to: SocketAddr) -> io::Result<()> {
    let clock = Clock::from(monotonic());
    let mut pinger = Pinger::open(to, clock)?;
    for _ in 0..PINGS {
        pinger.send(unbloat_os::icmp::PAYLOAD);
        for _ in 0..100 {
            tokio::time::sleep(Duration::from_millis(10)).await;
            pinger.listen(clock.now() + Delta::us(1));
            if pinger.round_trips().any(|trip| trip.is_some()) {
                return Ok(());
            }
        }
    }
    Err(ErrorKind::TimedOut.into())
}

/// In the time that one address has.
pub async fn patiently<T>(attempt: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    match tokio::time::timeout(PATIENCE, attempt).await {
        Ok(ended) => ended,
        Err(_) => Err(ErrorKind::TimedOut.into()),
    }
}

pub fn blocking<T>(work: impl Future<Output = Result<T, TestError>>) -> Result<T, TestError> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build().map_err(TestError::Begin)?;
    let done = runtime.block_on(work);
    // A resolver may still be at work.
    runtime.shutdown_background();
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    fn of(texts: &[&str]) -> Vec<SocketAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn families_take_turns_and_the_resolver_s_choice_is_first() {
        let found = of(&["[::1]:1", "[::2]:1", "[::3]:1", "10.0.0.1:1", "10.0.0.2:1"]);
        let order = of(&["[::1]:1", "10.0.0.1:1", "[::2]:1", "10.0.0.2:1", "[::3]:1"]);
        assert_eq!(in_turn(&found), order);
        assert_eq!(in_turn(&found[3..]), found[3..]);
        assert_eq!(in_turn(&[]), []);
    }

    /// With so long between attempts. By the last digit: 1 is silent, 2 refuses, 3 answers, 4 shows a wrong certificate. Who was asked, and what came
    /// of it.
    fn tried(delay: Duration, last: &[u8]) -> (Vec<u8>, Result<u8, ErrorKind>) {
        let digit = |to: SocketAddr| match to.ip() {
            IpAddr::V4(v4) => v4.octets()[3],
            IpAddr::V6(_) => panic!("{to}"),
        };
        let asked = Mutex::new(Vec::new());
        let attempt = |to: SocketAddr| {
            asked.lock().unwrap().push(digit(to));
            async move {
                match digit(to) {
                    1 => {
                        tokio::time::sleep(Duration::from_millis(100)).await;
                        Err(ErrorKind::TimedOut.into())
                    }
                    2 => Err(ErrorKind::ConnectionRefused.into()),
                    3 => Ok(()),
                    _ => Err(ErrorKind::InvalidData.into()),
                }
            }
        };
        let addresses: Vec<SocketAddr> = last.iter().map(|&d| ([10, 0, 0, d], 1).into()).collect();
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().build().unwrap();
        let came = runtime.block_on(first_of(&addresses, attempt, delay));
        let came = came
            .map(|(to, ())| digit(to))
            .map_err(|(_, error)| error.kind());
        (asked.into_inner().unwrap(), came)
    }

    const AT_ONCE: Duration = Duration::ZERO;
    const NEVER: Duration = Duration::from_secs(3_600);

    #[test]
    fn a_silent_address_costs_the_delay_and_one_that_refuses_nothing() {
        assert_eq!(tried(NEVER, &[3, 1]), (vec![3], Ok(3)));
        assert_eq!(tried(NEVER, &[2, 2, 3]), (vec![2, 2, 3], Ok(3)));
        assert_eq!(tried(AT_ONCE, &[1, 3]), (vec![1, 3], Ok(3)));
        assert_eq!(tried(AT_ONCE, &[1, 2, 3]), (vec![1, 2, 3], Ok(3)));
        assert_eq!(tried(NEVER, &[1, 3]), (vec![1, 3], Ok(3)));
    }

    #[test]
    fn of_failures_the_one_is_told_that_says_most() {
        let refused = Err(ErrorKind::ConnectionRefused);
        assert_eq!(tried(AT_ONCE, &[1, 1]).1, Err(ErrorKind::TimedOut));
        assert_eq!(tried(AT_ONCE, &[1, 2]).1, refused);
        assert_eq!(tried(NEVER, &[2, 1]).1, refused);
        // It is reached, so no other is asked.
        let wrong = Err(ErrorKind::InvalidData);
        assert_eq!(tried(NEVER, &[4, 3]), (vec![4], wrong));
    }
}
