//! The options with their defaults filled in, in the models' terms.

use super::buffers::Buffers;
use super::{Args, measured};
use crate::exit::Failure;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use unbloat_queueing::{Bottleneck, Capacity, Fit, Kind, Load, Route, Statistic, fit_buffer};
use unbloat_units::{Delta, Rate};

/// The rate that the paper's Figure 4 comes to.
const FIGURE_4: Rate = Rate::mbps(4);
const LARGEST: u64 = 200;

pub struct Question {
    pub link: Bottleneck,
    pub kinds: Vec<Kind>,
    /// With the route for each.
    pub loads: Vec<(Load, Route)>,
    pub capacities: Vec<Capacity>,
    pub has_hops: bool,
    pub propagation: Delta,
    pub target: Option<(Delta, Statistic)>,
    pub fit: Option<Fit>,
}

impl Question {
    pub fn of(args: &Args) -> Result<Question, Failure> {
        let fit = match &args.measured {
            Some(path) => Some(fit_buffer(&measured::read(path)?, args.packet, args.rate)?),
            None => None,
        };
        let rate = fit.as_ref().map(|fit| fit.rate).or(args.rate);
        let link = Bottleneck::new(rate.unwrap_or(FIGURE_4), args.packet)?;
        let largest = fit
            .as_ref()
            .map_or(LARGEST, |f| 2 * u64::from(f.capacity.get()));
        let buffers = args.buffer.clone().unwrap_or(Buffers::up_to(largest));
        let mut kinds = vec![Kind::Mm1k, Kind::Md1k];
        if let (Some(on), Some(off)) = (args.on, args.off) {
            kinds.push(Kind::IppM1k {
                on: link.transmissions(on),
                off: link.transmissions(off),
            });
        }
        let route = |&load: &Load| Ok((load, Route::new(link, load, &args.hop, args.propagation)?));
        let loads: Result<_, Failure> = args.utilisation.iter().map(route).collect();
        Ok(Question {
            link,
            kinds,
            loads: loads?,
            capacities: buffers.capacities(args.packet)?,
            has_hops: !args.hop.is_empty(),
            propagation: args.propagation,
            target: args.target.map(|target| (target, args.at)),
            fit,
        })
    }

    /// All models at all loads.
    pub fn cases(&self) -> impl Iterator<Item = (Kind, &(Load, Route))> {
        let kinds = self.kinds.iter();
        kinds.flat_map(|&kind| self.loads.iter().map(move |load| (kind, load)))
    }

    /// For run.json.
    pub fn options(&self, args: &Args) -> BTreeMap<String, Value> {
        let loads: Vec<f64> = self.loads.iter().map(|(load, _)| load.get()).collect();
        let hops: Vec<String> = args.hop.iter().map(Rate::to_string).collect();
        let capacities: Vec<u32> = self.capacities.iter().map(|k| k.get()).collect();
        let span = |span: Option<Delta>| json!(span.map(|s| s.to_string()));
        let at = self.target.map(|(_, statistic)| statistic_name(statistic));
        [
            ("rate", json!(self.link.rate().to_string())),
            ("packet", json!(self.link.packet().to_string())),
            ("utilisation", json!(loads)),
            ("buffer", json!(capacities)),
            ("on", span(args.on)),
            ("off", span(args.off)),
            ("hop", json!(hops)),
            ("propagation", json!(self.propagation.to_string())),
            ("target", span(args.target)),
            ("at", json!(at)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }
}

/// As on the command line.
pub fn statistic_name(statistic: Statistic) -> String {
    match statistic {
        Statistic::Mean => "mean".to_owned(),
        Statistic::Quantile(q) => {
            // 0.999 times 100 is not 99.9.
            let percent = (q * 1e8).round() / 1e6;
            format!("p{percent}")
        }
    }
}
