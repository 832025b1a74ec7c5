//! `unbloat serve`: the server for live tests.

mod args;
mod follow;
mod told;
mod unit;

pub use args::Args;

use crate::confine::{Calls, confine_calls, confine_files, drop_capabilities};
use crate::events::bar_target;
use crate::exit::{Exit, Failure};
use crate::print::{self, note};
use crate::stop::stop_on_ctrl_c;
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use unbloat_discovery::own_addresses;
#[cfg(feature = "announce")]
use unbloat_discovery::{Announcement, announce};
use unbloat_loadtest::PORT;
use unbloat_server::{Addresses, Counts, Server, become_user};

const REDRAWS: Duration = Duration::from_millis(500);

pub fn run(args: &Args) -> Result<Exit, Failure> {
    if args.unit {
        print::raw(&args.unit_file(std::env::args().skip(1)))?;
        return Ok(Exit::Complete);
    }
    unbloat_os::heap::count(crate::give_back);
    let server = Server::bind(&args.options()?)?;
    match args.user() {
        Some(name) => become_user(name)?,
        None if rustix::process::geteuid().is_root() => {
            note!(
                "unbloat: warning: serving untrusted clients as root; drop privileges with --user NAME, or run the service that --unit prints"
            );
        }
        None => {}
    }
    // The local network is spoken to by sockets that are opened later.
    let is_confined = !args.announces();
    if is_confined {
        drop_capabilities(args.capabilities());
        confine_files(&args.reads());
    }
    // Threads begin after this: what a thread may do is only inherited by those that begin later. Ctrl-C is awaited before the server says where it is: who has read that may press it.
    let stop = stop_on_ctrl_c()?;
    let counted = server.counts();
    args.metrics
        .serve("serve", move || told::page(&counted()))?;
    let at = server.addresses();
    if args.is_json() {
        print::json(at)?;
    }
    tell_where(at);
    let known = Known::new(args, at)?;
    let counts = server.counts();
    let certificates = server.certificates();
    let is_over = AtomicBool::new(false);
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| show(&counts, &is_over));
        if let Some(files) = args.files() {
            let (known, certificates, is_over) = (&known, &certificates, &is_over);
            scope.spawn(move || {
                files.follow(certificates, is_over, |replaced| match replaced {
                    Ok(()) => known.renew(&certificates.fingerprint()),
                    Err(error) => note!(
                        "unbloat: cannot use the changed certificate: {error}; serving the previous one"
                    ),
                });
            });
        }
        let ended = server.run(&stop, || {
            if is_confined {
                confine_calls(Calls::Files);
            }
        });
        is_over.store(true, Ordering::Relaxed);
        ended
    });
    ended?;
    note!("{}", sum(&counts()));
    Ok(Exit::Complete)
}

/// Whoever knows the server by its certificate: the user, and the local network.
struct Known {
    #[cfg(feature = "announce")]
    announcement: Option<Announcement>,
}

impl Known {
    #[cfg(feature = "announce")]
    fn new(args: &Args, at: &Addresses) -> Result<Known, Failure> {
        let wanted = args.announce.then(|| announce(at.tls, &at.fingerprint));
        let announcement = wanted.transpose()?;
        if let Some(announcement) = &announcement {
            let name = unbloat_untrusted::one_line(announcement.name());
            note!("announced    as {name} on the local network");
        }
        Ok(Known { announcement })
    }

    #[cfg(not(feature = "announce"))]
    fn new(_: &Args, _: &Addresses) -> Result<Known, Failure> {
        Ok(Known {})
    }

    fn renew(&self, fingerprint: &str) {
        note!("certificate  SHA-256 {fingerprint}");
        #[cfg(feature = "announce")]
        if let Some(Err(error)) = self.announcement.as_ref().map(|one| one.renew(fingerprint)) {
            note!("unbloat: {error}");
        }
    }
}

fn tell_where(at: &Addresses) {
    let quic = match cfg!(feature = "http3") {
        true => "; QUIC over UDP",
        false => "",
    };
    note!("listening on {} (TLS over TCP{quic})", at.tls);
    if let Some(plain) = at.plain {
        note!("             {plain} (TCP without TLS)");
    }
    if let Some(echo) = at.echo {
        note!("             {echo} (irtt over UDP)");
    }
    note!("certificate  SHA-256 {}", at.fingerprint);
    for words in typed(at) {
        note!("to test it   {words}");
    }
}

/// What is typed on other machines: by the first address of each version that they may reach.
fn typed(at: &Addresses) -> Vec<String> {
    let mut addresses = match at.tls.ip() {
        any if any.is_unspecified() => own_addresses(),
        one => vec![one],
    };
    addresses.retain(|address| at.tls.is_ipv6() || address.is_ipv4());
    addresses.dedup_by_key(|address| address.is_ipv6());
    let server = |address: &IpAddr| match at.tls.port() {
        PORT => address.to_string(),
        port => SocketAddr::new(*address, port).to_string(),
    };
    let test = |address| format!("unbloat test {}", server(address));
    addresses.iter().map(test).collect()
}

/// Redraws a status line, on a terminal only.
fn show(counts: &(impl Fn() -> Counts + Sync), is_over: &AtomicBool) {
    let bar = ProgressBar::with_draw_target(None, bar_target(false));
    let style = ProgressStyle::with_template("{spinner} {msg}").expect("a template of ours");
    bar.set_style(style);
    while !is_over.load(Ordering::Relaxed) {
        bar.set_message(now(&counts()));
        bar.tick();
        std::thread::sleep(REDRAWS);
    }
    bar.finish_and_clear();
}

fn now(counts: &Counts) -> String {
    format!(
        "{} connections, {} sessions  {}",
        counts.connections,
        counts.sessions,
        sum(counts)
    )
}

fn sum(counts: &Counts) -> String {
    format!(
        "{} requests, {} down, {} up, {} echoes, {} refused, {} failed",
        counts.requests,
        HumanBytes(counts.down_bytes),
        HumanBytes(counts.up_bytes),
        counts.echoed,
        counts.refused,
        counts.failed
    )
}
