//! The search for the knee by lines: says at which rate to shape, in bit/s, and reads what came of it, until it ends with the knee.
//!
//!     cargo run -p unbloat-sqm --example knee -- 20000000
//!     trial 19000000
//!     11.5 18200000          (read: added delay's p95 in ms, and goodput in bit/s, both as the line counts)

#![expect(
    clippy::disallowed_methods,
    reason = "an example reads what it is called with"
)]

use std::io::stdin;
use unbloat_sqm::{Asked, Knee, KneeParams, Qdisc, Trial};
use unbloat_units::{Delta, Rate};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let measured = std::env::args().nth(1).ok_or("the line's rate in bit/s")?;
    let measured = Rate::bps(measured.parse()?);
    let mut knee = Knee::new(measured, KneeParams::of(measured, Qdisc::Cake));
    let mut lines = stdin().lines();
    loop {
        match knee.asks() {
            Asked::Trial(rate) => println!("trial {}", rate.as_bps()),
            Asked::Knee(rate) => break println!("knee {}", rate.as_bps()),
            Asked::Tolerable { .. } => return Err("no rate was good".into()),
            Asked::None(why) => return Err(why.into()),
        }
        let line = lines.next().ok_or("it ended before the search did")??;
        let (added_ms, goodput) = line
            .trim()
            .split_once(' ')
            .ok_or("two numbers are wanted")?;
        knee.tell(Trial {
            added_p95: Delta::from_secs_f64(added_ms.parse::<f64>()? / 1e3),
            goodput: Rate::from_bps_f64(goodput.parse()?),
        });
    }
    Ok(())
}
