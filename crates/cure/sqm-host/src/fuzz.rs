//! For the fuzz target: what a router answers, of any bytes.

use crate::error::ShaperError;
use crate::reply::lines;
use crate::router::{Look, standing};
use crate::run::Said;
use crate::status::QueueStatus;
use unbloat_sqm::Device;
use unbloat_sqm::uci::{self, Section};

/// What became of an answer, whichever of the questions it was for.
pub struct Answer {
    pub look: Result<Look, ShaperError>,
    pub config: Result<Vec<Section>, ShaperError>,
    pub standing: Result<(bool, Vec<QueueStatus>), ShaperError>,
}

/// Reads what ssh said on its two ways and how it ended; its fault where that is no answer.
pub fn answer(out: &[u8], err: &[u8], code: Option<i32>) -> Result<Answer, ShaperError> {
    let said = Said {
        out: out.to_vec(),
        err: err.to_vec(),
        code,
    };
    let lines = lines("router", &said)?;
    let device: Device = "eth0".parse().expect("a name of a device");
    Ok(Answer {
        look: Look::of("router", &lines),
        config: uci::read(&lines.join("\n")).map_err(|source| ShaperError::Config {
            target: "router".to_owned(),
            source,
        }),
        standing: standing(&device, &lines),
    })
}
