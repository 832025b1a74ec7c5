//! Presets: named sets of values. `[presets.carrier.evdo]` gives keys values, `[preset] carrier = "evdo"` or a sweep over `preset.carrier` chooses
//! them. A value given by `--set` or `[sweep]` goes before that of a preset.

use crate::scenario::PARTS_AROUND;
use crate::scenario::toml::{Error, Node, Origin, Value};

/// Puts the values of the chosen presets into a scenario, and takes `[preset]` and `[presets]` out of it.
pub(super) fn apply(scenario: &mut Node) -> Result<(), Error> {
    let known = scenario.take("presets");
    let Some(chosen) = scenario.take("preset") else {
        return Ok(());
    };
    let Value::Table(groups) = &chosen.value else {
        let message = "expected a table of groups and names, like { carrier = \"evdo\" }";
        return Err(Error::new(chosen.origin, "preset", message));
    };
    for (group, name) in groups {
        let fault = |message| Error::new(name.origin.clone(), format!("preset.{group}"), message);
        let of_group = known.as_ref().and_then(|known| known.get(group));
        let Some(Value::Table(of_group)) = of_group.map(|node| &node.value) else {
            return Err(fault(format!("[presets.{group}] is missing")));
        };
        let preset = name.as_text().and_then(|name| of_group.get(name));
        let preset = preset.ok_or_else(|| {
            let names: Vec<_> = of_group.keys().map(String::as_str).collect();
            fault(format!("use one of {}", names.join(", ")))
        })?;
        if let Some((part, node)) = PARTS_AROUND
            .iter()
            .find_map(|part| Some((part, preset.get(part)?)))
        {
            let message = format!("a preset has no [{part}] of its own");
            let name = name.as_text().unwrap_or_default();
            return Err(Error::new(
                node.origin.clone(),
                format!("presets.{group}.{name}.{part}"),
                message,
            ));
        }
        put_all(scenario, "", preset)?;
    }
    Ok(())
}

/// A table with `kind` is one value; other tables are paths of keys.
fn put_all(scenario: &mut Node, path: &str, preset: &Node) -> Result<(), Error> {
    match &preset.value {
        Value::Table(table) if !table.contains_key("kind") => {
            for (key, below) in table {
                let path = match path {
                    "" => key.clone(),
                    _ => format!("{path}.{key}"),
                };
                put_all(scenario, &path, below)?;
            }
            Ok(())
        }
        _ if is_given(scenario, path) => Ok(()),
        _ => scenario.put(path, preset.clone()),
    }
}

/// Whether `--set` or `[sweep]` gave the value of this key, or of a table around it.
fn is_given(scenario: &Node, path: &str) -> bool {
    let ends = path.match_indices('.').map(|(at, _)| at);
    let mut around = ends.chain([path.len()]).map(|end| &path[..end]);
    around.any(|around| {
        let node = scenario.get(around);
        node.is_some_and(|node| matches!(node.origin, Origin::Set | Origin::Sweep))
    })
}

#[cfg(test)]
mod tests {
    use crate::scenario::Sweep;
    use crate::scenario::toml::Node;

    const TEXT: &str = "
        preset.carrier = \"evdo\"
        [link.down]
        rate = \"1 Mbit/s\"
        queue = { kind = \"droptail\", limit = \"1 MB\" }
        [[flow]]
        cc = \"cubic\"
        [presets.carrier.evdo]
        link.down.rate = \"3 Mbit/s\"
        flow.0.cc = \"reno\"
        [presets.carrier.lte]
        link.down.rate = \"18 Mbit/s\"
        link.down.queue = { kind = \"codel\" }
    ";

    fn points(set: &[&str]) -> Result<Vec<String>, String> {
        let mut scenario = Node::parse(TEXT).unwrap();
        let mut sweep = Sweep::take(&mut scenario).unwrap();
        for one in set {
            sweep.set(&mut scenario, one).unwrap();
        }
        let points = (0..sweep.points()).map(|index| {
            let point = sweep.point(index).apply(&scenario);
            let point = point.map_err(|error| error.to_string())?;
            let keys = ["link.down.rate", "link.down.queue", "flow.0.cc"];
            assert_eq!((point.get("preset"), point.get("presets")), (None, None));
            Ok(keys
                .map(|key| point.get(key).unwrap().to_string())
                .join(" "))
        });
        points.collect()
    }

    #[test]
    fn a_preset_puts_its_values_and_a_sweep_goes_through_presets() {
        let evdo = "3 Mbit/s {kind=droptail, limit=1 MB} reno";
        let lte = "18 Mbit/s {kind=codel} cubic";
        assert_eq!(points(&[]).unwrap(), [evdo]);
        assert_eq!(points(&["preset.carrier=lte"]).unwrap(), [lte]);
        let both = points(&["preset.carrier=[\"evdo\", \"lte\"]"]).unwrap();
        assert_eq!(both, [evdo, lte]);
    }

    #[test]
    fn values_of_the_command_line_and_of_sweeps_go_before_those_of_presets() {
        let set = points(&["link.down.rate=5 Mbit/s"]).unwrap();
        assert_eq!(set, ["5 Mbit/s {kind=droptail, limit=1 MB} reno"]);
        let swept = points(&["flow.0.cc=[\"bic\", \"vegas\"]"]).unwrap();
        assert!(swept[0].ends_with("bic") && swept[1].ends_with("vegas"));
    }

    #[test]
    fn an_unknown_preset_is_answered_with_those_there_are() {
        let error = |set| points(&[set]).unwrap_err();
        let unknown = error("preset.carrier=umts");
        assert_eq!(unknown, "--set: preset.carrier: use one of evdo, lte");
        let missing = error("preset.phone=s3");
        assert_eq!(missing, "--set: preset.phone: [presets.phone] is missing");
        let within = error("presets.carrier.evdo.preset.carrier=lte");
        assert_eq!(
            within,
            "presets.carrier.evdo.preset: a preset has no [preset] of its own"
        );
    }
}
