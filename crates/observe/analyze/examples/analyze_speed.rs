//! How fast the analysis alone is: all packets of a capture, all analyses, no output.
//!
//! `cargo run --release -p unbloat-analyze --example analyze_speed -- CAPTURE [THREADS] [tables]`

use std::time::Instant;
use unbloat_analyze::{Control, Settings, run};
use unbloat_capture::{Input, Trace};
use unbloat_trace::Params;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let capture = args
        .next()
        .ok_or("usage: analyze_speed CAPTURE [THREADS] [tables]")?;
    let threads = args.next().map_or(Ok(1), |n| n.parse())?;
    let settings = Settings {
        params: Params::default(),
        parser: Default::default(),
        client_nets: Vec::new(),
        threads,
        hash_seed: 1,
        summary_only: args.next().is_none(),
        reads: None,
    };
    let mut trace = Trace::open(&[Input::File(capture.into())])?;
    let mut rows = 0;
    let begun = Instant::now();
    let outcome = run::<std::convert::Infallible>(&mut trace, &settings, &mut |output, _| {
        rows += output.tables().iter().map(|t| t.len()).sum::<usize>();
        Ok(Control::Continue)
    })?;
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "{} packets, {rows} rows, {seconds:.3} s, {:.2} M packets/s",
        outcome.packets,
        outcome.packets as f64 / seconds / 1e6
    );
    Ok(())
}
