//! `queue = { kernel = "fq_codel limit 1000" }`: a queue of the Linux kernel where else one of ours stands.

use crate::scenario::experiment::KernelQueue;
use crate::scenario::toml::{Error, Keys, Node, Value, read};
use serde::de::DeserializeOwned;
use unbloat_units::{Both, Rate};

/// What a kernel's queue cannot stand in front of: it knows one constant rate.
const REFUSED: [&str; 7] = [
    "trace",
    "steps",
    "markov",
    "radio",
    "device",
    "burst",
    "peak_rate",
];
/// Words of `tc` that say at which rate the queue itself sends.
const SHAPING: [&str; 2] = ["bandwidth", "rate"];

/// Takes the kernel's queues out of `[link.down]` and `[link.up]`. Where one was there remains a link of the same rate with a
/// queue that never fills: it gives each packet the time of its transmission.
pub(super) fn take(links: &mut Node) -> Result<Both<Option<KernelQueue>>, Error> {
    Both::try_of(|direction| match &mut links.value {
        Value::Table(table) => match table.get_mut(direction.name()) {
            Some(link) => take_one(link, &format!("link.{direction}")),
            None => Ok(None),
        },
        _ => Ok(None),
    })
}

fn take_one(link: &mut Node, key: &str) -> Result<Option<KernelQueue>, Error> {
    let path = format!("{key}.queue");
    if link.get("queue.kernel").is_none() {
        return Ok(None);
    }
    let Some(node) = link.take("queue") else {
        return Ok(None);
    };
    let mut keys = Keys::of(&node, &path)?;
    let words: String = keys.need("kernel")?;
    let fault = |message: &str| Error::new(node.origin.clone(), path.clone(), message);
    if let Some(refused) = REFUSED.iter().find(|name| link.get(name).is_some()) {
        let message = format!("a kernel queue needs a constant rate, not {refused:?}");
        return Err(fault(&message));
    }
    if link.get("framing.cells").is_some() {
        return Err(fault(
            "a kernel queue counts bytes, not cells; use cake's option for cells",
        ));
    }
    let rate: Option<Rate> = of_link(link, key, "rate")?;
    let overhead: Option<i32> = of_link(link, key, "framing.overhead_bytes")?;
    let is_shaping = words.split_whitespace().any(|word| SHAPING.contains(&word));
    if words.trim().is_empty() {
        return Err(fault("write the queue as for tc: \"fq_codel limit 1000\""));
    }
    if rate.is_none() && !is_shaping && !words.starts_with("netem") {
        return Err(fault(
            "a queue without a rate never fills; give the link a \"rate\", or the queue a bandwidth",
        ));
    }
    keys.end()?;
    Ok(Some(KernelQueue {
        words,
        rate,
        overhead_bytes: overhead.unwrap_or(0),
    }))
}

/// A value of the link, which stays there.
fn of_link<T: DeserializeOwned>(link: &Node, key: &str, name: &str) -> Result<Option<T>, Error> {
    let value = link.get(name);
    value
        .map(|value| read(value, &format!("{key}.{name}")))
        .transpose()
}

#[cfg(test)]
mod tests {
    use super::super::build;
    use crate::scenario::Experiment;
    use crate::scenario::toml::{Error, Node};
    use unbloat_link::Config as Element;
    use unbloat_units::Rate;

    fn built(down: &str) -> Result<Experiment, Error> {
        let text = format!("[link.down]\n{down}\n[[flow]]\napp = \"bulk\"\n");
        build(&Node::parse(&text)?, &|_| Err("no file".into()))
    }

    #[test]
    fn a_kernels_queue_stands_in_front_of_a_link_of_its_rate() {
        let text = "rate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nqueue = { kernel = \"fq_codel limit 500\" }\nframing = { overhead_bytes = 14 }";
        let experiment = built(text).unwrap();
        let queues = &experiment.kernel_queues;
        let (Some(down), None) = (&queues.down, &queues.up) else {
            panic!("{queues:?}");
        };
        assert_eq!(down.words, "fq_codel limit 500");
        assert_eq!((down.rate, down.overhead_bytes), (Some(Rate::mbps(10)), 14));
        assert!(matches!(
            experiment.down[0].elements[..],
            [Element::Bottleneck(_), Element::Delay(_)]
        ));
    }

    #[test]
    fn a_queue_that_shapes_needs_no_rate() {
        let experiment = built("queue = { kernel = \"cake bandwidth 10mbit\" }").unwrap();
        assert!(experiment.kernel_queues.down.is_some() && experiment.down[0].elements.is_empty());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (down, reason) in [
            ("queue = { kernel = \"codel\" }", "never fills"),
            (
                "queue = { kernel = \"\" }\nrate = \"1 Mbit/s\"",
                "as for tc",
            ),
            (
                "queue = { kernel = \"codel\", limit = 5 }\nrate = \"1 Mbit/s\"",
                "limit",
            ),
            (
                "queue = { kernel = \"codel\" }\ntrace = \"x\"",
                "constant rate",
            ),
            ("queue = { kernel = 7 }\nrate = \"1 Mbit/s\"", "7"),
        ] {
            let message = built(down).unwrap_err().to_string();
            assert!(message.contains(reason), "{down}: {message}");
        }
    }
}
