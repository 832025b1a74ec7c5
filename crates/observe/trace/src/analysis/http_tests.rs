use crate::testing::{Results, Script};
use unbloat_units::Delta;

const GET: &str = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
const OK_1000: &str = "HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 1000\r\n\r\n";

/// Columns of every row: path, status, body bytes, first byte and duration in ms.
fn exchanges(results: &Results) -> Vec<(String, [Option<f64>; 4])> {
    let paths = results.texts("http", "path");
    let columns = ["status", "body_bytes", "first_byte_ms", "duration_ms"];
    let values = columns.map(|column| results.values("http", column));
    let row = |row: usize| {
        let path = paths[row].unwrap_or("?").to_owned();
        (path, [0, 1, 2, 3].map(|column: usize| values[column][row]))
    };
    (0..paths.len()).map(row).collect()
}

fn exchange(path: &str, values: [impl Into<Option<f64>>; 4]) -> (String, [Option<f64>; 4]) {
    (path.to_owned(), values.map(Into::into))
}

/// A request of the flow's first `n` bytes at 100 ms.
fn asked(request: &str) -> Script {
    let words = format!("> 1+{} ack 1", request.len());
    Script::opened().says(100.0, &words, request)
}

#[test]
fn an_exchange_has_its_times_and_the_bytes_that_passed() {
    let head = OK_1000.len();
    let results = asked(GET)
        .says(130.0, &format!("< 1+{head}"), OK_1000)
        .at(140.0, &format!("< {}+600", 1 + head))
        .at(170.0, &format!("< {}+400", 601 + head))
        .run();
    let expected = exchange("/a", [200.0, 1000.0, 30.0, 70.0]);
    assert_eq!(exchanges(&results), [expected]);
    let text = |column| results.texts("http", column)[0];
    assert_eq!((text("method"), text("host")), (Some("GET"), Some("h")));
    assert_eq!(text("content_class"), Some("video"));
    assert_eq!(results.flow("http_requests"), Some(1.0));
    assert_eq!(results.flow_text("server_name"), Some("h"));
}

#[test]
fn a_body_that_stops_early_counts_what_passed() {
    let head = OK_1000.len();
    let results = asked(GET)
        .says(130.0, &format!("< 1+{}", head + 300), OK_1000)
        .at(150.0, &format!("< {}+0 fin", head + 301))
        .run();
    let expected = exchange("/a", [200.0, 300.0, 30.0, 30.0]);
    assert_eq!(exchanges(&results), [expected]);
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let requests = "GET /a HTTP/1.1\r\n\r\nHEAD /b HTTP/1.1\r\n\r\nGET /c HTTP/1.1\r\n\r\n";
    let answers = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nxy\
                   HTTP/1.1 404 No\r\nContent-Length: 9\r\n\r\n\
                   HTTP/1.1 200 OK\r\nContent-Length: 700\r\n\r\n";
    let results = asked(requests)
        .says(120.0, &format!("< 1+{}", answers.len()), answers)
        .at(190.0, &format!("< {}+700", 1 + answers.len()))
        .run();
    let expected = [
        exchange("/a", [200.0, 2.0, 20.0, 20.0]),
        exchange("/b", [404.0, 0.0, 20.0, 20.0]),
        exchange("/c", [200.0, 700.0, 20.0, 90.0]),
    ];
    assert_eq!(exchanges(&results), expected);
    assert_eq!(results.flow("http_requests"), Some(3.0));
}

#[test]
fn a_body_without_stated_length_ends_at_the_next_head() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let n = chunked.len();
    let get = GET.len();
    let results = asked(GET)
        .says(120.0, &format!("< 1+{}", n + 50), chunked)
        .at(130.0, &format!("< {}+50", n + 51))
        .says(200.0, &format!("> {}+{get}", 1 + get), GET)
        .says(220.0, &format!("< {}+{n}", n + 101), chunked)
        .run();
    let bodies = exchanges(&results).into_iter().map(|(_, values)| values[1]);
    assert_eq!(bodies.collect::<Vec<_>>(), [Some(100.0), Some(0.0)]);
}

#[test]
fn content_that_looks_like_a_head_is_content() {
    let post = "POST /up HTTP/1.1\r\nContent-Length: 100\r\n\r\n";
    let head = OK_1000.len();
    let results = asked(post)
        .says(105.0, &format!("> {}+100", 1 + post.len()), GET)
        .says(130.0, &format!("< 1+{head}"), OK_1000)
        .says(140.0, &format!("< {}+1000", 1 + head), OK_1000)
        .run();
    let expected = exchange("/up", [200.0, 1000.0, 30.0, 40.0]);
    assert_eq!(exchanges(&results), [expected]);
}

#[test]
fn interim_responses_leave_the_request_waiting() {
    let interim = "HTTP/1.1 100 Continue\r\n\r\n";
    let (n, head) = (interim.len(), OK_1000.len());
    let results = asked("POST /a HTTP/1.1\r\nContent-Length: 9\r\n\r\n")
        .says(120.0, &format!("< 1+{n}"), interim)
        .says(150.0, &format!("< {}+{head}", 1 + n), OK_1000)
        .run();
    let expected = exchange("/a", [200.0, 0.0, 50.0, 50.0]);
    assert_eq!(exchanges(&results), [expected]);
}

#[test]
fn a_response_whose_head_was_missed_does_not_shift_the_others() {
    let (get, head) = (GET.len(), OK_1000.len());
    let results = asked("GET /missed HTTP/1.1\r\n\r\n")
        .at(120.0, "< 1+500")
        .says(200.0, &format!("> 25+{get}"), GET)
        .says(220.0, &format!("< 501+{}", head + 1000), OK_1000)
        .run();
    let none: [Option<f64>; 4] = [None; 4];
    let expected = [
        exchange("/missed", none),
        exchange("/a", [200.0, 1000.0, 20.0, 20.0]),
    ];
    assert_eq!(exchanges(&results), expected);
}

#[test]
fn a_retransmitted_head_is_no_second_exchange() {
    let head = OK_1000.len();
    let words = format!("< 1+{}", head + 1000);
    let ask = format!("> 1+{} ack 1", GET.len());
    let results = asked(GET)
        .says(110.0, &ask, GET)
        .says(130.0, &words, OK_1000)
        .says(330.0, &words, OK_1000)
        .run();
    let expected = exchange("/a", [200.0, 1000.0, 30.0, 30.0]);
    assert_eq!(exchanges(&results), [expected]);
    assert_eq!(results.flow("http_requests"), Some(1.0));
}

#[test]
fn without_its_request_a_response_stands_alone() {
    let results = Script::opened()
        .says(130.0, &format!("< 1+{}", OK_1000.len()), OK_1000)
        .run();
    let expected = exchange("?", [Some(200.0), Some(0.0), None, None]);
    assert_eq!(exchanges(&results), [expected]);
}

#[test]
fn a_head_that_is_cut_off_leaves_the_body_unknown() {
    let cut = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n";
    let results = asked("GET / HTTP/1.1\r\nHo")
        .says(130.0, "< 1+1200", cut)
        .run();
    let expected = exchange("/", [Some(200.0), None, Some(30.0), Some(30.0)]);
    assert_eq!(exchanges(&results), [expected]);
}

#[test]
fn requests_beyond_the_bound_are_counted_and_do_not_shift_the_others() {
    let mut script = Script::opened();
    let request = |i: usize| format!("GET /{i:02} HTTP/1.1\r\n\r\n");
    let len = request(0).len();
    for i in 0..20 {
        script = script.says(
            100.0,
            &format!("> {}+{len} ack 1", 1 + i * len),
            &request(i),
        );
    }
    let answer = "HTTP/1.1 204 Done\r\n\r\n";
    for i in 0..20 {
        let words = format!("< {}+{}", 1 + i * answer.len(), answer.len());
        script = script.says(200.0, &words, answer);
    }
    let more = 1 + 20 * len;
    let results = script
        .says(300.0, &format!("> {more}+{len}"), &request(20))
        .run();
    let paths: Vec<String> = exchanges(&results)
        .into_iter()
        .map(|(path, _)| path)
        .collect();
    assert_eq!(paths.len(), 21);
    assert_eq!((paths[15].as_str(), paths[16].as_str()), ("/15", "?"));
    assert_eq!(paths[20], "/20");
    assert_eq!(results.flow("http_requests"), Some(21.0));
}

#[test]
fn periodic_range_requests_are_found() {
    let ranged = "GET /v HTTP/1.1\r\nHost: tv\r\nRange: bytes=100-299\r\n\r\n";
    let answer =
        "HTTP/1.1 206 P\r\nContent-Length: 200\r\nContent-Range: bytes 100-299/900\r\n\r\n";
    let (up, down) = (ranged.len(), answer.len() + 200);
    let mut script = Script::opened();
    for i in 0..7 {
        let ms = 1000.0 + 10_000.0 * i as f64;
        script = script
            .says(ms, &format!("> {}+{up}", 1 + i * up), ranged)
            .says(ms + 50.0, &format!("< {}+{down}", 1 + i * down), answer);
    }
    let results = script.run();
    assert_eq!(results.flow("period_s"), Some(10.0));
    let events = results.events("periodic");
    assert_eq!(events.len(), 1);
    assert_eq!((events[0].ms, events[0].value), (51_000.0, Some(10_000.0)));
    assert_eq!(events[0].detail.as_deref(), Some("tv"));
    assert_eq!(results.values("http", "range_first"), [Some(100.0); 7]);
    assert_eq!(results.values("http", "range_last"), [Some(299.0); 7]);
}

#[test]
fn flows_without_a_head_keep_nothing_and_say_so() {
    assert_eq!(size_of::<super::Light>(), size_of::<usize>());
    let results = Script::opened()
        .with(|params| params.bin = Delta::ZERO)
        .says(100.0, "> 1+10 ack 1", "\u{16}\u{3}\u{1}\0\u{5}\u{1}")
        .run();
    assert_eq!(results.flow("http_requests"), None);
    assert_eq!(exchanges(&results), []);
}
