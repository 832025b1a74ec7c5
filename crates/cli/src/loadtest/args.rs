//! Options of `unbloat test`.

use super::Locating;
use crate::exit::Failure;
use crate::ip::IpArgs;
use crate::nearby::{self};
use crate::span::within;
use crate::terminal;
use crate::token::TokenArgs;
use crate::trust::TrustArgs;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::path::PathBuf;
use unbloat_loadtest::apps::{App, ChoiceError};
use unbloat_loadtest::{Findings, Flows, Http, Measured, Options, Plan, Rule, Stack, Target};
use unbloat_units::{Bytes, Delta};

#[cfg(feature = "http3")]
const HTTP: [&str; 3] = ["1.1", "2", "3"];
#[cfg(not(feature = "http3"))]
const HTTP: [&str; 2] = ["1.1", "2"];

/// Measure latency under load in each direction, and recommend a fix.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  # full test against `unbloat serve` on box, about 30 s
  unbloat test box
  # the same, against the server on the local network
  unbloat test
  # short test, about 10 s, JSON output
  unbloat test box --glance --json
  # separate delay in sockets from delay in the network
  unbloat test box --stack both
  # no server of your own: a public service, or any large file
  unbloat test cloudflare
  unbloat test https://example.net/large.iso
  unbloat test https://nq.example.net/.well-known/nq --echo box:2112
  unbloat test ndt7://ndt.example.net
  # idle path only
  unbloat test irtt://box
  # one test for each, and a table of all
  unbloat test box --congestion-control cubic,bbr,reno
  unbloat test box --receive-window 64KiB,256KiB,1MiB
Packets are sent only to the named servers; docs/test.md describes the one exception.
Exit code 5: measured, but not valid; the output gives the reasons.")]
pub struct Args {
    /// Server: HOST[:PORT] of `unbloat serve`, cloudflare, mlab, apple, https://HOST/PATH (responsiveness, or a large file), ndt7://HOST or irtt://HOST
    /// [default: the server on the local network that runs `unbloat serve --announce`]
    #[allow(rustdoc::broken_intra_doc_links, reason = "brackets of the help text")]
    #[arg(value_name = "HOST|URL", help_heading = None)]
    target: Option<Target>,

    /// Run a short test, about 10 s
    #[arg(long, conflicts_with = "draft")]
    glance: bool,

    /// Use the stages, intervals and ramp of draft-ietf-ippm-responsiveness-09 (about 90 s)
    #[arg(long)]
    draft: bool,

    /// Length of each stage, in the order idle,down,up,both. '0 s' skips a stage
    #[arg(long, value_name = "SPANS", value_parser = four_spans, conflicts_with_all = ["glance", "draft"])]
    stages: Option<[Delta; 4]>,

    /// HTTP version of load and probes. 3 uses QUIC, whose send buffers --stack cannot limit
    #[arg(long, value_name = "VERSION", default_value = "2", value_parser = HTTP)]
    http: String,

    /// Limit unsent data in the senders: network-only (at most 5 ms), as-is (no limit), both (each load twice)
    #[arg(long, value_name = "KIND", default_value = "network-only", value_parser = ["as-is", "network-only", "both"])]
    stack: String,

    /// Number of load connections per direction, opened at once instead of a ramp to 16
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    flows: Option<u16>,

    /// Congestion control of the load at both ends. Comma-separated values are tested in turn
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub congestion_control: Vec<String>,

    /// Static receive window of each download connection, 2 KiB to 1 GiB. Comma-separated values are tested in turn
    #[arg(long, value_name = "SIZE", value_delimiter = ',', value_parser = window)]
    pub receive_window: Vec<Bytes>,

    /// irtt server for datagrams, if the tested server has none
    #[arg(long, value_name = "HOST:PORT", value_parser = host_and_port)]
    echo: Option<(String, u16)>,

    /// Interval between probe packets, 1 ms to 1 s [default: 10 to 250 ms, so that they take 1 % of the slower direction]
    #[arg(long, value_name = "SPAN", value_parser = interval)]
    probe_interval: Option<Delta>,

    #[command(flatten)]
    trust: TrustArgs,

    #[command(flatten)]
    token: TokenArgs,

    #[command(flatten)]
    ip: IpArgs,

    /// Run applications during the load, and once without load (comma-separated): web, page, video, voice, game, finite, ranges, ping
    #[arg(long, value_name = "APP", value_parser = apps)]
    with: Option<Apps>,

    /// Find the hop of the queue during the same loads. Lengthens the idle stage to 6 s
    #[arg(long)]
    locate: bool,

    /// Grading scheme in the details (worst: as in the verdict)
    #[arg(long, value_name = "SCHEME", default_value = "worst", value_parser = rule_parser())]
    pub grade: Rule,

    /// Print JSON, one object (`unbloat schema` has its fields)
    #[arg(long)]
    pub json: bool,

    /// Also write a data file for flent (.flent.gz)
    #[arg(long, value_name = "FILE")]
    pub flent: Option<PathBuf>,

    /// Folder for the results (must not exist) [default: an unused name among the runs of this user; none with --json]
    #[cfg(feature = "runs")]
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,

    /// Do not write a folder with the results
    #[cfg(feature = "runs")]
    #[arg(long, conflicts_with = "out")]
    no_run: bool,

    /// Print everything that was measured, not only the verdict and one line per stage
    #[arg(long, conflicts_with = "json")]
    details: bool,

    /// Do not show progress
    #[arg(short, long)]
    pub quiet: bool,
}

impl Args {
    /// One test for each combination of congestion control and receive window.
    pub fn options(&self) -> Result<Vec<Options>, Failure> {
        let first = self.first()?;
        let controls = some_or_none(&self.congestion_control);
        let windows = some_or_none(&self.receive_window);
        let all = controls.iter().flat_map(|control| {
            windows.iter().map(|window| Options {
                congestion_control: control.clone(),
                receive_window: *window,
                ..first.clone()
            })
        });
        Ok(all.collect())
    }

    pub fn locating(&self) -> Locating {
        match self.locate {
            true => Locating::Yes,
            false => Locating::No,
        }
    }

    /// The text output.
    pub fn text(&self, measured: &Measured, findings: &Findings) -> String {
        let layout = terminal::stdout();
        match self.details {
            true => unbloat_loadtest::detailed_text(measured, findings, layout),
            false => unbloat_loadtest::text(measured, findings, layout),
        }
    }

    /// Whether to write a run folder.
    #[cfg(feature = "runs")]
    pub fn writes_run(&self) -> bool {
        !self.no_run && (self.out.is_some() || !self.json)
    }

    fn first(&self) -> Result<Options, Failure> {
        let mut options = Options::of(self.server()?);
        options.plan = self.plan();
        options.http = match &self.http[..] {
            "1.1" => Http::One,
            "3" => Http::Three,
            _ => Http::Two,
        };
        options.flows = match (self.flows, self.draft) {
            (Some(flows), _) => Flows::Fixed(flows),
            (None, true) => Flows::DRAFT,
            (None, false) => Flows::STEEP,
        };
        options.probing.echo_every = self.probe_interval;
        options.echo = self.echo.clone();
        options.token = self.token.token()?;
        options.apps = self.with.clone().unwrap_or_default().0;
        if !options.apps.is_empty() {
            options.plan = options.plan.with_idle_for_apps();
        }
        options.ip = self.ip.version();
        options.trust = self.trust.trust(&options.target, options.ip)?;
        Ok(options)
    }

    fn server(&self) -> Result<Target, Failure> {
        match &self.target {
            Some(target) => Ok(target.clone()),
            None if self.trust.is_blind() => Err("--insecure needs the name of a server: anyone on the local network may announce one".into()),
            None => Ok(nearby::server()?.to_string().parse().expect("an address")),
        }
    }

    fn plan(&self) -> Plan {
        let stacks: &[Stack] = match &self.stack[..] {
            "as-is" => &[Stack::AsIs],
            "both" => &[Stack::NetworkOnly, Stack::AsIs],
            _ => &[Stack::NetworkOnly],
        };
        match (self.stages, self.glance, self.draft) {
            (Some(lengths), ..) => Plan::of("stages", Delta::secs(1), lengths, stacks),
            (_, true, _) => Plan::glance(stacks),
            (.., true) => Plan::draft(stacks),
            _ => Plan::usual(stacks),
        }
    }
}

fn some_or_none<T: Clone>(values: &[T]) -> Vec<Option<T>> {
    match values.is_empty() {
        true => vec![None],
        false => values.iter().cloned().map(Some).collect(),
    }
}

/// What `--with` asks for; a type of its own, since a list would be many values.
#[derive(Clone, Default)]
struct Apps(Vec<App>);

fn apps(names: &str) -> Result<Apps, ChoiceError> {
    App::list(names).map(Apps)
}

fn host_and_port(text: &str) -> Result<(String, u16), &'static str> {
    let expected = "expected HOST:PORT";
    let (host, port) = text.rsplit_once(':').ok_or(expected)?;
    let port = port.parse().map_err(|_| expected)?;
    Ok((host.trim_matches(['[', ']']).to_owned(), port))
}

fn four_spans(text: &str) -> Result<[Delta; 4], String> {
    let spans = text.split(',').map(|span| span.trim().parse::<Delta>());
    let spans = spans.collect::<Result<Vec<_>, _>>();
    let spans = spans.map_err(|error| error.to_string())?;
    let four = spans.try_into();
    four.map_err(|_| "expected four times, idle,down,up,both".to_owned())
}

fn interval(text: &str) -> Result<Delta, String> {
    within(text, Delta::ms(1)..=Delta::secs(1), "1 ms to 1 s")
}

fn window(text: &str) -> Result<Bytes, String> {
    within(text, Bytes::kib(2)..=Bytes::mib(1024), "2 KiB to 1 GiB")
}

fn rule_parser() -> impl TypedValueParser<Value = Rule> {
    PossibleValuesParser::new(Rule::ALL.map(Rule::name))
        .map(|name| Rule::named(&name).expect("a possible value"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Wrapped {
        #[command(flatten)]
        args: Args,
    }

    fn options(words: &str) -> Result<Vec<Options>, String> {
        let words = ["test"].into_iter().chain(words.split_whitespace());
        let args = Wrapped::try_parse_from(words)
            .map_err(|error| error.to_string())?
            .args;
        args.options().map_err(|error| error.to_string())
    }

    #[test]
    fn repeated_keys_are_a_sweep_of_all_combinations() {
        let all = options(
            "box --congestion-control cubic --congestion-control bbr --receive-window 64KiB,1MB",
        );
        let all = all.unwrap();
        let pairs: Vec<_> = all
            .iter()
            .map(|o| (o.congestion_control.clone().unwrap(), o.receive_window))
            .collect();
        assert_eq!(pairs.len(), 4);
        assert_eq!(pairs[1], ("cubic".to_owned(), Some(Bytes::new(1_000_000))));
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_what_can() {
        for (words, why) in [
            ("--insecure", "needs the name of a server"),
            ("box --pin 12", "64 hexadecimal"),
            ("box --echo there", "HOST:PORT"),
            ("box --stages 1s,2s", "four times"),
            ("ftp://box", "use https"),
            ("box --glance --draft", "cannot be used"),
            ("box --probe-interval 10us", "1 ms to 1 s"),
            ("box --receive-window 1KB", "2 KiB to 1 GiB"),
        ] {
            let refused = options(words).unwrap_err();
            assert!(refused.contains(why), "{words}: {refused}");
        }
    }
}
