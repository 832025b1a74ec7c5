//! Prints for each second and flow where its packets waited.

use std::time::Duration;
use unbloat_watch::{Options, Watch, WatchError};

fn main() -> Result<(), WatchError> {
    let mut watch = Watch::open(&Options::default())?;
    if let Some(why) = watch.blind() {
        eprintln!("estimated: {why}");
    }
    loop {
        std::thread::sleep(Duration::from_secs(1));
        for flow in watch.look()?.flows {
            let delays = flow.delays().map(|(layer, delay)| match delay {
                Some(delay) => format!("{layer} {delay}"),
                None => format!("{layer} ?"),
            });
            println!("{}: {}", flow.flow, delays.join(", "));
        }
    }
}
