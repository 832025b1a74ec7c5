//! `queue = { kernel = "fq_codel limit 1000" }`: a queue of the Linux kernel where else one of ours stands.

use crate::scenario::experiment::{Flow, KernelQueue, Pace};
use crate::scenario::toml::{Error, Keys, Node, Value, read};
use serde::de::DeserializeOwned;
use unbloat_units::{Both, Delta, Rate};

/// What a kernel's queue cannot stand in front of: what has a queue of its own, or sends more than one packet at once.
const REFUSED: [&str; 4] = ["radio", "device", "burst", "peak_rate"];
/// Rates that vary, of which no discipline of the kernel's knows.
const VARYING: [&str; 3] = ["trace", "steps", "markov"];
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
        let message = format!(
            "a kernel queue cannot stand in front of {refused:?}; use \"rate\", \"trace\", \"steps\" or \"markov\""
        );
        return Err(fault(&message));
    }
    if link.get("framing.cells").is_some() {
        return Err(fault(
            "a kernel queue counts bytes, not cells; use cake's option for cells",
        ));
    }
    let rate: Option<Rate> = of_link(link, key, "rate")?;
    let overhead: Option<i32> = of_link(link, key, "framing.overhead_bytes")?;
    let varies = VARYING.iter().any(|name| link.get(name).is_some());
    let is_shaping = words.split_whitespace().any(|word| SHAPING.contains(&word));
    if words.trim().is_empty() {
        return Err(fault("write the queue as for tc: \"fq_codel limit 1000\""));
    }
    let keeps_to_its_own = is_shaping || words.starts_with("netem");
    let pace = match rate {
        _ if varies => Pace::Link,
        Some(rate) => Pace::Rate(rate),
        None if keeps_to_its_own => Pace::Own,
        None => {
            return Err(fault(
                "a queue without a rate never fills; give the link \"rate\", \"trace\", \"steps\" or \"markov\", or the queue a bandwidth",
            ));
        }
    };
    keys.end()?;
    Ok(Some(KernelQueue {
        words,
        pace,
        overhead_bytes: overhead.unwrap_or(0),
    }))
}

/// Refuses what would come between a queue and the link that empties it.
pub(super) fn check(
    queues: &Both<Option<KernelQueue>>,
    links: &Node,
    flows: &[Flow],
) -> Result<(), Error> {
    let waits = |queue: &KernelQueue| queue.pace == Pace::Link;
    let fault = |key: String, message: &str| Err(Error::new(links.origin.clone(), key, message));
    if queues.iter().all(Option::is_none) {
        return Ok(());
    }
    if links.get("clients").is_some() {
        return fault(
            "link.clients".to_owned(),
            "a kernel queue is shared by all clients; give [link.clients] queues of unbloat",
        );
    }
    if queues.iter().flatten().any(waits) && links.get("rrc").is_some() {
        return fault(
            "link.rrc".to_owned(),
            "a kernel queue in front of a rate that varies needs a radio that is always awake; remove [link.rrc], or use a queue of unbloat",
        );
    }
    match flows.iter().find(|flow| flow.extra_delay > Delta::ZERO) {
        None => Ok(()),
        Some(flow) => fault(
            format!("flow {:?}", flow.name),
            "\"delay\" of a flow would count as waiting in the kernel queue; use \"delay\" of the link, or a queue of unbloat",
        ),
    }
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
    use crate::scenario::toml::{Error, Node};
    use crate::scenario::{Experiment, Pace};
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
        assert_eq!(down.pace, Pace::Rate(Rate::mbps(10)));
        assert_eq!(down.overhead_bytes, 14);
        assert!(matches!(
            experiment.down[0].elements[..],
            [Element::Bottleneck(_), Element::Delay(_)]
        ));
    }

    #[test]
    fn a_rate_that_varies_empties_the_queue_by_itself() {
        let steps = "steps = [{ span = \"1 s\", rate = \"1 Mbit/s\" }]";
        for words in ["codel", "cake bandwidth 5mbit"] {
            let text = format!("queue = {{ kernel = \"{words}\" }}\n{steps}");
            let experiment = built(&text).unwrap();
            let down = experiment.kernel_queues.down.unwrap();
            assert_eq!(down.pace, Pace::Link);
            assert!(matches!(
                experiment.down[0].elements[..],
                [Element::Bottleneck(_)]
            ));
        }
    }

    #[test]
    fn nothing_comes_between_a_queue_and_a_link_that_empties_it() {
        let link = "[link.down]\nqueue = { kernel = \"codel\" }\nsteps = [{ span = \"1 s\", rate = \"1 Mbit/s\" }]";
        for (rest, reason) in [
            ("[link.rrc]\n[[flow]]\napp = \"bulk\"", "always awake"),
            (
                "[[flow]]\nname = \"far\"\napp = \"bulk\"\ndelay = \"5 ms\"",
                "flow \"far\"",
            ),
        ] {
            let node = Node::parse(&format!("{link}\n{rest}\n")).unwrap();
            let message = build(&node, &|_| Err("no file".into())).unwrap_err();
            assert!(message.to_string().contains(reason), "{message}");
        }
    }

    #[test]
    fn the_delay_of_a_flow_counts_as_no_wait_of_a_kernels_queue() {
        let link = "rate = \"20 Mbit/s\"\nqueue = { kernel = \"fq_codel\" }";
        let message = built(&format!(
            "{link}\n[[flow]]\nname = \"far\"\napp = \"bulk\"\ndelay = \"40 ms\""
        ));
        assert!(message.unwrap_err().to_string().contains("flow \"far\""));
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
                "queue = { kernel = \"codel\" }\nradio = \"lte\"",
                "in front of \"radio\"",
            ),
            ("queue = { kernel = 7 }\nrate = \"1 Mbit/s\"", "7"),
        ] {
            let message = built(down).unwrap_err().to_string();
            assert!(message.contains(reason), "{down}: {message}");
        }
    }
}
