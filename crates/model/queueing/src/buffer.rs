//! From a delay target to the buffer to set.

use crate::{Capacity, Kind, Load, Model, ModelError};

/// Which delay is held against the target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    Mean,
    /// The delay that this share of packets does not exceed.
    Quantile(f64),
}

impl Statistic {
    pub fn of(self, model: &dyn Model) -> f64 {
        match self {
            Statistic::Mean => model.mean_delay(),
            Statistic::Quantile(q) => model.delay_quantile(q),
        }
    }
}

/// Delays in transmission times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BufferAnswer {
    /// The largest buffer that keeps the target, its delay, and the delay with one packet more:
    /// target - delay is what remains because buffers are whole packets.
    Largest {
        capacity: Capacity,
        delay: f64,
        with_one_more: f64,
    },
    /// Every buffer keeps the target: this load never reaches it, and comes no closer than `limit`
    /// (its delay without limit on the buffer, or with [`Capacity::MOST`] packets).
    Any { limit: f64 },
    /// Not even a packet that never waits keeps the target; this is its delay.
    None { least: f64 },
}

/// The largest buffer whose delay stays within `target` (in transmission times). Delay grows with
/// the buffer in every model here, so it is found by halving.
pub fn buffer_for(
    kind: Kind,
    load: Load,
    statistic: Statistic,
    target: f64,
) -> Result<BufferAnswer, ModelError> {
    let delay = |packets: u32| {
        let capacity = Capacity::new(packets.into())?;
        Ok::<f64, ModelError>(statistic.of(kind.solve(load, capacity)?.as_ref()))
    };
    let least = delay(1)?;
    if least > target {
        return Ok(BufferAnswer::None { least });
    }
    if let Some(limit) = kind
        .solve_unlimited(load)
        .ok()
        .map(|m| statistic.of(m.as_ref()))
        && limit <= target
    {
        return Ok(BufferAnswer::Any { limit });
    }
    let (mut keeps, mut keeping) = (1, least);
    let (mut breaks, mut breaking) = (1, least);
    while breaking <= target {
        if breaks == Capacity::MOST {
            return Ok(BufferAnswer::Any { limit: breaking });
        }
        (keeps, keeping) = (breaks, breaking);
        breaks = (2 * breaks).min(Capacity::MOST);
        breaking = delay(breaks)?;
    }
    while breaks - keeps > 1 {
        let middle = keeps + (breaks - keeps) / 2;
        let found = delay(middle)?;
        if found <= target {
            (keeps, keeping) = (middle, found);
        } else {
            (breaks, breaking) = (middle, found);
        }
    }
    Ok(BufferAnswer::Largest {
        capacity: Capacity::new(keeps.into())?,
        delay: keeping,
        with_one_more: breaking,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{capacity, load};

    const KINDS: [Kind; 3] = [
        Kind::Mm1k,
        Kind::Md1k,
        Kind::IppM1k {
            on: 30.0,
            off: 20.0,
        },
    ];

    #[test]
    fn the_answer_keeps_the_target_and_one_packet_more_does_not() {
        for kind in KINDS {
            for statistic in [Statistic::Mean, Statistic::Quantile(0.95)] {
                let answer = buffer_for(kind, load(1.1), statistic, 33.5).expect("a model");
                let BufferAnswer::Largest {
                    capacity: found,
                    delay,
                    with_one_more,
                } = answer
                else {
                    panic!("{kind:?}: {answer:?}")
                };
                assert!(delay <= 33.5 && with_one_more > 33.5, "{answer:?}");
                let more = capacity(u64::from(found.get()) + 1);
                let more = kind.solve(load(1.1), more).expect("a model");
                assert_eq!(statistic.of(more.as_ref()), with_one_more);
            }
        }
    }

    #[test]
    fn at_load_one_the_mean_is_half_of_k_plus_one() {
        let answer = buffer_for(Kind::Mm1k, load(1.0), Statistic::Mean, 50.2).expect("a model");
        let BufferAnswer::Largest { capacity, .. } = answer else {
            panic!("{answer:?}")
        };
        assert_eq!(capacity.get(), 99);
    }

    #[test]
    fn loads_that_never_reach_the_target_need_no_limit_and_short_targets_cannot_be_kept() {
        for kind in KINDS {
            let any = buffer_for(kind, load(0.5), Statistic::Mean, 1_000.0);
            assert!(matches!(any, Ok(BufferAnswer::Any { limit }) if limit < 1_000.0));
            let none = buffer_for(kind, load(0.5), Statistic::Mean, 0.9);
            assert!(
                matches!(none, Ok(BufferAnswer::None { least }) if (least - 1.0).abs() < 1e-12)
            );
        }
    }
}
