//! The summary: where throughput stops growing, the delay of larger buffers, the largest buffer
//! for a delay target, the buffer that fits a measured curve.

use super::question::{Question, statistic_name};
use std::fmt::Write;
use unbloat_queueing::{
    BufferAnswer, Capacity, Kind, Load, ModelError, buffer_for, figure4, published,
};
use unbloat_units::{Bytes, Delta};

/// Fraction of the offered load or, above load 1, of the link rate.
const KNEE: f64 = 0.99;

pub struct Findings {
    pub cases: Vec<Case>,
}

/// One model at one load; delays in transmission times.
pub struct Case {
    kind: Kind,
    pub load: Load,
    /// The smallest buffer that carries [`KNEE`], and its delay: mean and p95.
    pub knee: Option<(Capacity, [f64; 2])>,
    /// The delay of the largest requested buffer.
    pub largest: (Capacity, [f64; 2]),
    pub unlimited: Option<[f64; 2]>,
    pub target: Option<BufferAnswer>,
}

impl Findings {
    pub fn of(question: &Question) -> Result<Findings, ModelError> {
        let cases = question
            .cases()
            .map(|(kind, (load, _))| Case::of(question, kind, *load));
        Ok(Findings {
            cases: cases.collect::<Result<_, _>>()?,
        })
    }
}

impl Case {
    fn of(question: &Question, kind: Kind, load: Load) -> Result<Case, ModelError> {
        let delays = |capacity| {
            let model = kind.solve(load, capacity)?;
            Ok::<_, ModelError>((capacity, [model.mean_delay(), model.delay_quantile(0.95)]))
        };
        let largest = question.capacities.last().copied().unwrap_or(Capacity::ONE);
        let unlimited = kind.solve_unlimited(load).ok();
        let target = question.target.map(|(span, statistic)| {
            buffer_for(kind, load, statistic, question.link.transmissions(span))
        });
        Ok(Case {
            kind,
            load,
            knee: figure4::knee(kind, load, KNEE)?.map(delays).transpose()?,
            largest: delays(largest)?,
            unlimited: unlimited.map(|m| [m.mean_delay(), m.delay_quantile(0.95)]),
            target: target.transpose()?,
        })
    }

    pub fn name(&self) -> String {
        format!("{}, load {}", self.kind.notation(), self.load.get())
    }
}

impl Findings {
    pub fn text(&self, question: &Question) -> String {
        let link = &question.link;
        let mut text = format!(
            "{} in packets of {}: {} each\n\n",
            link.rate(),
            link.packet(),
            short(link.span(1.0))
        );
        if let Some(fit) = &question.fit {
            let range = match fit.at_most {
                Some(most) => format!("{} to {} packets fit", fit.at_least.get(), most.get()),
                None => format!("any buffer of at least {} packets fits", fit.at_least.get()),
            };
            let buffer = buffer(question, fit.capacity);
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "Measured curve: a buffer of {buffer} at {}; residual {:.2} %; {range} equally well\n",
                fit.rate,
                100.0 * fit.rms
            );
        }
        for case in &self.cases {
            let _ = writeln!(text, "{}", case.name());
            case.lines(question).into_iter().for_each(|(what, is)| {
                let _ = writeln!(text, "  {what:<29} {is}");
            });
        }
        text
    }
}

impl Case {
    fn lines(&self, question: &Question) -> Vec<(String, String)> {
        let span = |transmissions: f64| short(question.link.span(transmissions));
        let delays =
            |[mean, p95]: [f64; 2]| format!("delay {} mean, {} p95", span(mean), span(p95));
        let mut lines = Vec::new();
        let knee = match self.knee {
            Some((capacity, found)) => {
                format!("from {}: {}", buffer(question, capacity), delays(found))
            }
            None => format!("not with {} packets", Capacity::MOST),
        };
        lines.push((format!("{} % of throughput", 100.0 * KNEE), knee));
        let (capacity, found) = self.largest;
        let exact = found[0];
        let printed = published::mean_delay(self.load, capacity);
        let error = 100.0 * (printed / exact - 1.0);
        let eq4 = match error.abs() < 0.05 {
            true => "; Jiang et al. 2012, eq. 4: the same".to_owned(),
            false => format!(
                "; Jiang et al. 2012, eq. 4: {} ({error:+.1} %)",
                span(printed)
            ),
        };
        let largest = buffer(question, capacity);
        lines.push((format!("with {largest}"), format!("{}{eq4}", delays(found))));
        let unlimited = self
            .unlimited
            .map_or("grows without bound".to_owned(), delays);
        lines.push(("without limit".to_owned(), unlimited));
        if let (Some((target, statistic)), Some(answer)) = (question.target, self.target) {
            let what = format!("{} within {}", statistic_name(statistic), target);
            lines.push((what, answer_text(question, answer)));
        }
        lines
    }
}

fn answer_text(question: &Question, answer: BufferAnswer) -> String {
    // One packet more may not show in three digits.
    let span = |transmissions: f64| rounded(question.link.span(transmissions), 5);
    match answer {
        BufferAnswer::Largest {
            capacity,
            delay,
            with_one_more,
        } => format!(
            "up to {}: {}; with one more packet {}",
            buffer(question, capacity),
            span(delay),
            span(with_one_more)
        ),
        BufferAnswer::Any { limit } => format!("any buffer: at most {}", span(limit)),
        BufferAnswer::None { least } => format!(
            "no buffer: transmission alone takes {}; use a faster link or smaller packets",
            span(least)
        ),
    }
}

fn buffer(question: &Question, capacity: Capacity) -> String {
    let packets = u64::from(capacity.get());
    let size = Bytes::new(packets * question.link.packet().as_u64());
    format!("{packets} packets ({size})")
}

/// A span to three digits.
fn short(span: Delta) -> String {
    rounded(span, 3)
}

fn rounded(span: Delta, digits: i32) -> String {
    let ns = span.as_ns() as f64;
    let step = 10f64.powf((ns.abs().max(1.0).log10().floor() + 1.0 - f64::from(digits)).max(0.0));
    Delta::ns(((ns / step).round() * step) as i64).to_string()
}
