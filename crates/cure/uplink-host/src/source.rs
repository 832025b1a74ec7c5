//! Where news of the modem come from: a socket, a pipe or a file with a report on each line, or the host's own connections.

use crate::error::UplinkError;
use crate::news::News;
use crate::report::{LONGEST, Report, ReportError};
use crate::tap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::sleep;
use std::time::{Duration, Instant};
use unbloat_uplink::Occupancy;

/// Reports that wait for the control; it takes them all at once.
const WAITING: usize = 1_024;
/// How soon a source that ended is opened again.
const AGAIN: Duration = Duration::from_millis(200);
/// How soon more is looked for at the end of a file.
const MORE: Duration = Duration::from_millis(2);

/// `modem:PATH`, `bsr:PATH` or `delay`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// What the modem holds, exactly.
    Modem(PathBuf),
    /// By the level of its buffer status report.
    Bsr(PathBuf),
    /// By when the far ends of TCP connections got what they were sent.
    Delay,
}

impl FromStr for Source {
    type Err = UplinkError;

    fn from_str(text: &str) -> Result<Source, UplinkError> {
        match text.split_once(':') {
            None if text == "delay" => Ok(Source::Delay),
            Some(("modem", path)) if !path.is_empty() => Ok(Source::Modem(path.into())),
            Some(("bsr", path)) if !path.is_empty() => Ok(Source::Bsr(path.into())),
            _ => Err(UplinkError::NoSource {
                text: text.to_owned(),
            }),
        }
    }
}

impl Source {
    pub fn name(&self) -> &'static str {
        match self {
            Source::Modem(_) => "modem",
            Source::Bsr(_) => "bsr",
            Source::Delay => "delay",
        }
    }

    /// Whether it tells what has left the discipline, so that nobody else has to count.
    pub(crate) fn counts(&self) -> bool {
        matches!(self, Source::Delay)
    }

    fn read(&self, line: &str) -> Result<Occupancy, ReportError> {
        let report = Report::parse(line)?;
        match self {
            Source::Bsr(_) => report.level(),
            _ => report.bytes(),
        }
    }

    /// Reads on a thread of its own, which ends when nobody listens any more. Times are since `begun`.
    pub(crate) fn listen(
        &self,
        device: &str,
        begun: Instant,
    ) -> Result<Receiver<News>, UplinkError> {
        let (tell, hear) = sync_channel(WAITING);
        match self {
            Source::Modem(path) | Source::Bsr(path) => self.follow(path, tell)?,
            Source::Delay => tap::listen(device, begun, tell)?,
        }
        Ok(hear)
    }

    fn follow(&self, path: &Path, tell: SyncSender<News>) -> Result<(), UplinkError> {
        let failed = |source| UplinkError::File {
            path: path.to_owned(),
            source,
        };
        // A pipe blocks whoever opens it until somebody writes: the thread, not its caller. What is not there is told at once.
        std::fs::metadata(path).map_err(failed)?;
        let (source, place) = (self.clone(), path.to_owned());
        let thread = std::thread::Builder::new().name("modem".to_owned());
        let run = move || {
            loop {
                let ended = match open(&place) {
                    Ok(input) => source.tell_all(input, &tell),
                    Err(error) => Some(error),
                };
                // Nobody listens.
                let Some(error) = ended else { return };
                if tell.send(News::Ended(error)).is_err() {
                    return;
                }
                sleep(AGAIN);
            }
        };
        thread.spawn(run).map_err(failed)?;
        Ok(())
    }

    /// Tells each report until the source ends; none: nobody listens.
    fn tell_all(&self, mut input: Input, tell: &SyncSender<News>) -> Option<io::Error> {
        loop {
            let news = match input.line() {
                Ok(Some(line)) => self.read(&line),
                Ok(None) => Err(ReportError::TooLong),
                Err(error) => return Some(error),
            };
            let news = news.map_or_else(News::Refused, News::Occupancy);
            tell.send(news).ok()?;
        }
    }
}

/// An open source.
struct Input {
    reader: BufReader<Box<dyn Read + Send>>,
    /// A plain file, which grows.
    grows: bool,
}

fn open(path: &Path) -> io::Result<Input> {
    let kind = std::fs::metadata(path)?.file_type();
    let reader: Box<dyn Read + Send> = match kind.is_socket() {
        true => Box::new(UnixStream::connect(path)?),
        false => Box::new(File::open(path)?),
    };
    Ok(Input {
        reader: BufReader::new(reader),
        grows: kind.is_file(),
    })
}

impl Input {
    /// The next line; none if it is too long. Its rest counts as another.
    fn line(&mut self) -> io::Result<Option<String>> {
        let mut line = Vec::new();
        loop {
            let room = (LONGEST + 1 - line.len()) as u64;
            let read = (&mut self.reader).take(room).read_until(b'\n', &mut line)?;
            if line.last() == Some(&b'\n') {
                line.pop();
                return Ok(Some(String::from_utf8_lossy(&line).into_owned()));
            }
            if line.len() > LONGEST {
                return Ok(None);
            }
            match (read, self.grows) {
                (0, true) => sleep(MORE),
                (0, false) => return Err(io::ErrorKind::UnexpectedEof.into()),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_units::Bytes;

    #[test]
    fn sources_are_named_by_kind_and_path() {
        assert_eq!(
            "bsr:/run/a:b".parse::<Source>().unwrap(),
            Source::Bsr("/run/a:b".into())
        );
        assert_eq!("delay".parse::<Source>().unwrap(), Source::Delay);
        for text in ["", "modem", "modem:", "delay:/x", "BSR:/x"] {
            assert!(text.parse::<Source>().is_err(), "{text}");
        }
    }

    #[test]
    fn reports_nonsense_and_the_end_are_told_apart() {
        let path = std::env::temp_dir().join(format!("unbloat-news-{}", std::process::id()));
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let hear = Source::Modem(path.clone())
            .listen("", Instant::now())
            .unwrap();
        let (mut modem, _) = listener.accept().unwrap();
        let long = "x".repeat(3 * LONGEST);
        let text = format!("{{\"buffered_bytes\":7}}\n{long}\n{{\"buffered_bytes\":8}}\n");
        io::Write::write_all(&mut modem, text.as_bytes()).unwrap();
        drop(modem);
        let mut reports = Vec::new();
        let mut refused = 0;
        loop {
            match hear.recv().unwrap() {
                News::Occupancy(occupancy) => reports.push(occupancy),
                News::Refused(_) => refused += 1,
                News::Left(_) => panic!("a file counts nothing"),
                News::Ended(_) => break,
            }
        }
        std::fs::remove_file(&path).unwrap();
        assert_eq!(reports, [7, 8].map(|n| Occupancy::Bytes(Bytes::new(n))));
        assert!((1..=4).contains(&refused), "{refused}");
    }
}
