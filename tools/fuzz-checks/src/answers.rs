//! What servers, routers and the kernel answer, and what commands have written down.

use super::heap::within;
use super::pieces;
use super::words::{are_said, is_part, is_said, texts};
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use std::path::{Component, Path};
use unbloat_loadtest::{Origin, Target};
use unbloat_os::netlink::{Attributes, attribute};
use unbloat_responsiveness::document::Test;
use unbloat_responsiveness::{PageRun, judge_page};
use unbloat_sqm::Device;
use unbloat_sqm_host::ShaperError;
use unbloat_units::{Direction, Rate};

/// The bytes are lines of a server's account of a test, each behind the hundredths of a second since the one before. It grows by time and by
/// what is ours, whatever comes, and whatever is concluded from it is said in harmless words.
pub fn account(bytes: &[u8]) {
    let lines = bytes.split(|byte| *byte == b'\n');
    let lines = lines.filter_map(|line| line.split_first().map(|(&ms, line)| (ms, line)));
    let hundredths: usize = lines.clone().map(|(ms, _)| usize::from(ms)).sum();
    let flows = usize::from(unbloat_loadtest::fuzz::FLOWS);
    let told = within(64 * bytes.len() + (4 << 20), || {
        unbloat_loadtest::fuzz::account(lines)
    });
    assert!(
        told.lines <= hundredths / 5 + 40,
        "20 lines a second, and 40"
    );
    assert!(told.counts <= told.lines * flows && told.kernel <= told.lines * flows);
    told.failure.iter().for_each(is_said);
    are_said(&told.text);
}

/// The bytes are what a server of ndt7 sends, behind the direction. No more is kept than a test has room for, and no more held than one message.
pub fn ndt7(bytes: &[u8]) {
    use unbloat_loadtest::fuzz::{LONGEST_MESSAGE, MOST_NOTES};
    let Some((&way, sent)) = bytes.split_first() else {
        return;
    };
    let direction = Direction::BOTH[usize::from(way & 1)];
    let most = LONGEST_MESSAGE + 8 * sent.len() + (1 << 20);
    let (notes, failure) = within(most, || unbloat_loadtest::fuzz::ndt7(sent, direction));
    assert!(notes.counts.len().max(notes.kernel.len()) <= MOST_NOTES);
    assert!(direction == Direction::Up || notes.counts.is_empty());
    failure.iter().for_each(is_said);
}

/// The bytes are the name of a server, and what it answers: a description or a session. Whatever is offered lies on the host that was asked, and
/// can be asked for.
pub fn service(bytes: &[u8]) {
    let mut lines = bytes.splitn(2, |byte| *byte == b'\n');
    let name = String::from_utf8_lossy(lines.next().unwrap_or_default());
    let text = lines.next().unwrap_or_default();
    if let Some(session) = unbloat_loadtest::fuzz::session(text) {
        assert!(
            session
                .path()
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'/')
        );
        assert!(session.path().len() < 128);
    }
    let origin = match name.parse::<Target>() {
        Err(error) => return is_said(error.to_string()),
        Ok(Target::Responsiveness(origin)) => origin,
        Ok(other) => {
            is_said(other.to_string());
            let again: Result<Target, _> = other.to_string().parse();
            assert_eq!(again.map(reached), Ok(reached(other)));
            return;
        }
    };
    assert!(!origin.host.is_empty() && !origin.host.contains('@'));
    match unbloat_loadtest::fuzz::service(text, &origin) {
        Err(why) => is_said(why),
        Ok(service) => offered(&service, &origin),
    }
}

/// The bytes are datagrams of a neighbour, who may announce servers. They are few, at the neighbour's address, and said in harmless words;
/// the next question is one that a responder can read.
pub fn neighbour(bytes: &[u8]) {
    let datagrams = pieces(bytes);
    let (servers, question) = within(256 * bytes.len() + (1 << 20), || {
        unbloat_discovery::fuzz::hear(datagrams)
    });
    assert!(servers.len() <= 32);
    for server in &servers {
        is_part(&server.name);
        assert!(server.name.len() <= 3 * 63);
        assert_eq!(server.address.ip().octets(), [10, 0, 0, 2]);
        assert_ne!(server.address.port(), 0);
        let digits = server.fingerprint.iter().flat_map(|print| print.bytes());
        assert!(digits.clone().all(|byte| byte.is_ascii_hexdigit()));
        assert!(matches!(digits.count(), 0 | 64));
    }
    assert!(simple_dns::Packet::parse(&question).is_ok());
}

/// Whom a test would ask.
fn reached(target: Target) -> (String, u16, bool) {
    match target {
        Target::Responsiveness(origin)
        | Target::Cloudflare(origin)
        | Target::Ndt7(origin)
        | Target::Mlab(origin) => (origin.host, origin.port, origin.is_tls),
        Target::Irtt { host, port } => (host, port, false),
    }
}

fn offered(service: &unbloat_loadtest::fuzz::Service, origin: &Origin) {
    for path in [&service.small, &service.large, &service.upload] {
        assert!(path.starts_with('/') && path.bytes().all(|byte| byte > b' ' && byte != 0x7f));
    }
    assert!(
        unbloat_loadtest::fuzz::can_be_asked(service, origin),
        "{service:?}"
    );
    let is_fit = |c: char| c.is_ascii_alphanumeric() || ".-:".contains(c);
    assert!(
        service
            .endpoint
            .iter()
            .all(|name| name.chars().all(is_fit) && name.len() < 256)
    );
}

/// The first byte is the exit code of ssh, the rest what it printed. Only what was asked for is taken from it.
pub fn router(bytes: &[u8]) {
    let Some((&code, rest)) = bytes.split_first() else {
        return;
    };
    let code = [Some(0), Some(1), Some(255), None][usize::from(code & 3)];
    let mut parts = rest.splitn(2, |byte| *byte == 0);
    let (out, err) = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    );
    let most = 64 * rest.len() + (64 << 10);
    let answer = match within(most, || unbloat_sqm_host::fuzz::answer(out, err, code)) {
        Err(error) => return fault(&error),
        Ok(answer) => answer,
    };
    assert!(code.is_some_and(|code| code != 255));
    match &answer.look {
        Err(error) => fault(error),
        Ok(look) => {
            let is_device = |name: &String| name.parse::<Device>().is_ok();
            assert!(
                look.devices.iter().chain(&look.outward).all(is_device),
                "{look:?}"
            );
            look.offered.iter().for_each(is_said);
        }
    }
    match &answer.standing {
        Err(error) => fault(error),
        Ok((_, queues)) => {
            for queue in queues {
                is_part(&queue.kind);
                is_part(&queue.handle);
            }
        }
    }
    if let Err(error) = &answer.config {
        fault(error);
    }
}

fn fault(error: &ShaperError) {
    is_said(error.to_string());
    assert!(error.to_string().len() < 2000);
}

/// The bytes are an answer of the kernel's, or of tools that ask it, behind what they are.
pub fn kernel(bytes: &[u8]) {
    let Some((&kind, answer)) = bytes.split_first() else {
        return;
    };
    match kind % 5 {
        0 => datagram(answer),
        1 => message(answer),
        3 => drop(unbloat_autorate_host::fuzz::reply(answer)),
        _ => told(answer),
    }
}

/// Messages lie within their datagram, one after the other.
fn datagram(reply: &[u8]) {
    const HEADER: usize = 16;
    let mut read = 0;
    let ended = unbloat_os::netlink::fuzz::read(reply, &mut |body| {
        read += HEADER + body.len();
        assert!(reply.as_ptr_range().contains(&body.as_ptr()) || body.is_empty());
        message(body);
    });
    assert!(read <= reply.len());
    if let Err(error) = ended {
        assert!(error.raw_os_error().is_none_or(|code| code != 0));
    }
}

fn message(body: &[u8]) {
    unbloat_watch::fuzz::answer(body);
    unbloat_undo::fuzz::kernel(body);
    let attributes = body.get(20..).unwrap_or_default();
    for kind in 0..4 {
        if let Some(value) = attribute(attributes, kind) {
            let again = Attributes::new().bytes(kind, value).to_bytes();
            assert_eq!(attribute(&again, kind), Some(value));
        }
    }
}

/// A command of `tc` has as many words as it would have for an honest answer.
fn told(answer: &[u8]) {
    let text = String::from_utf8_lossy(answer);
    let (listed, classes) = text.split_once('\0').unwrap_or((&text, ""));
    let Some(commands) = unbloat_autorate_host::fuzz::told(listed, classes, Rate::mbps(7)) else {
        return;
    };
    for words in commands {
        let expected = if words[2] == "root" { 8 } else { 11 };
        assert_eq!(words.len(), expected, "{words:?}");
        assert!(
            words
                .iter()
                .all(|word| !word.is_empty() && !word.starts_with('-')),
            "{words:?}"
        );
    }
}

/// The bytes are a journal of what a command changed, or a path to a file that its undoing would write.
pub fn journal(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let path = Path::new(&*text);
    if unbloat_undo::fuzz::is_written(path) {
        let is_plain =
            |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
        assert!(path.components().all(is_plain), "{path:?}");
        assert!(path.starts_with("/proc/sys/net/ipv4"));
        assert!(path.ends_with("ip_forward") || path.ends_with("forwarding"));
    }
    let Some(journal) = within(256 * bytes.len() + 4096, || {
        unbloat_undo::fuzz::journal(&text)
    }) else {
        return;
    };
    // What is undone is what was written down, line by line.
    let whole = text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    // A key's value may be one that no reader has to represent, as a number beyond all that fit 64 bits.
    let keys = |line| serde_json::from_str::<BTreeMap<String, IgnoredAny>>(line);
    let has = |key: &str| {
        let lines = whole.clone().filter_map(|line| keys(line).ok());
        lines.filter(|line| line.contains_key(key)).count()
    };
    assert_eq!(has("step"), journal.steps);
    let is_kept = whole
        .clone()
        .any(|line| serde_json::from_str(line).is_ok_and(|word: String| word == "kept"));
    assert_eq!(is_kept || has("kept") > 0, journal.is_kept);
    journal.said.iter().for_each(is_part);
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"-%".contains(&byte);
    let is_name = |stem: &String| stem.bytes().all(is_fit) && stem.len() < 200;
    assert!(journal.stem.iter().all(is_name), "{:?}", journal.stem);
}

/// The bytes are the kind of a run's probes, and steps: what happens, to which probe, ms since the step before, where the message is cut, and its
/// length before it. Every message is counted once, and no probe is answered twice or by who does not know it.
pub fn probe(bytes: &[u8]) {
    let Some((&kind, mut rest)) = bytes.split_first() else {
        return;
    };
    let steps = std::iter::from_fn(|| {
        let (&[what, number, ms, cut, len], after) = rest.split_first_chunk()?;
        let (data, after) = after.split_at(usize::from(len).min(after.len()));
        rest = after;
        Some(([what, number, ms, cut], data))
    });
    let outcome = unbloat_locate_host::fuzz::run(kind, steps);
    let counts = outcome.counts;
    let answered = outcome
        .records
        .iter()
        .filter(|record| record.answer.is_some());
    assert_eq!(answered.count() as u64, counts.answered);
    let none =
        counts.refused + counts.repeated + counts.foreign + counts.ambiguous + counts.malformed;
    assert_eq!(counts.answered + none, outcome.messages);
    assert!(counts.answered <= counts.sent);
    for record in &outcome.records {
        let spans = [record.rtt(), record.in_qdisc()];
        assert!(spans.iter().flatten().all(|span| !span.is_negative()));
    }
    for verdict in &outcome.verdicts {
        is_part(verdict.to_string());
    }
}

/// The bytes are what a browser tells of its test: it gets a verdict in words of bounded length, in memory of bounded size.
pub fn page(bytes: &[u8]) {
    let Ok(run) = serde_json::from_slice::<PageRun>(bytes) else {
        return;
    };
    let verdict = within(256 * bytes.len() + (1 << 20), || judge_page(&run));
    let told = serde_json::to_value(&verdict).expect("numbers and words");
    assert!(
        texts(&told)
            .iter()
            .all(|text| text.len() < 2000 + bytes.len())
    );
}

/// The bytes are what is read from a device by an emulator, behind whether its header stands before it.
pub fn device(bytes: &[u8]) {
    if let Some((&kind, packet)) = bytes.split_first() {
        unbloat_emulator::fuzz::passes(packet, kind & 1 != 0);
    }
}

/// The bytes are a stored test that a cure is asked for.
pub fn tested(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match unbloat_fix::read(&text) {
        Err(error) => is_said(error.to_string()),
        Ok(test) => {
            // Spans of weeks are told in milliseconds, which have fewer digits.
            let json = serde_json::to_value(&test).expect("numbers and words");
            let again: Test = serde_json::from_value(json.clone()).expect("as it was written");
            let again = serde_json::to_value(&again).expect("numbers and words");
            assert_eq!(texts(&again), texts(&json));
        }
    }
}

/// Pieces, each behind its length, for whoever needs several texts.
pub(crate) fn split(bytes: &[u8]) -> (&[u8], &[u8]) {
    let mut all = pieces(bytes);
    (
        all.next().unwrap_or_default(),
        all.next().unwrap_or_default(),
    )
}
