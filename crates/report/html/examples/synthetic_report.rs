//! Writes the report of a made-up run, to look at: `synthetic_report FLOWS FILE.html`.

#[path = "../tests/synthetic/mod.rs"]
mod synthetic;

use std::fs::File;
use std::io::BufWriter;
use std::time::Instant;
use unbloat_html::{RenderOptions, render, verdict_text};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [flows, file] = arguments.as_slice() else {
        return Err("usage: synthetic_report FLOWS FILE.html".into());
    };
    let dir = tempfile::tempdir()?;
    let (run, outcome) = synthetic::write_run(dir.path(), flows.parse()?);
    print!("{}", verdict_text(&outcome.verdict, 100));
    let options = RenderOptions::default();
    let begun = Instant::now();
    let mut out = BufWriter::new(File::create(file)?);
    let rendered = render(&synthetic::open(&run), &mut out, &options)?;
    println!("{rendered:?} in {:.2} s", begun.elapsed().as_secs_f64());
    Ok(())
}
