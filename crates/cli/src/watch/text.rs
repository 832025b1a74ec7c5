//! One sample as a table.

use unbloat_responsiveness::{Kind, Place, watched};
use unbloat_text::Table;
use unbloat_units::{Delta, Rate};
use unbloat_untrusted::in_line;
use unbloat_watch::{FlowLayers, InterfaceLayers, Layer, Layers, Wait};

/// For so many columns of a terminal; none: as wide as it is.
pub fn text(layers: &Layers, columns: Option<usize>) -> String {
    let seen = layers.interfaces.iter().map(interface);
    let devices = table(
        &[
            "device", "queue", "backlog", "T_Q", "p95", "T_D", "out", "drops",
        ],
        2,
        seen,
    );
    let devices = devices.text(columns);
    let flows = table(
        &[
            "flow", "device", "process", "socket", "T_Q", "p95", "T_D", "below", "RTT_Q", "RTT_F",
            "out", "acked", "worst",
        ],
        3,
        layers.flows.iter().map(flow),
    );
    let flows = flows.text(columns);
    let more = match layers.more_flows {
        0 => String::new(),
        more => format!("and {more} more flows\n"),
    };
    format!("{}\n\n{devices}\n\n{flows}\n{more}", sentence(layers))
}

/// Where packets wait longest, in the words of `unbloat test`; and in which socket data waits even longer.
fn sentence(layers: &Layers) -> String {
    let waits = layers.interfaces.iter().flat_map(|seen| {
        let places = [
            (Place::Qdisc.to_string(), seen.qdisc.as_ref()),
            (Place::Driver.to_string(), seen.driver.as_ref()),
        ];
        places.map(|(place, wait)| Some((place, in_line(&seen.name), mean(wait?))))
    });
    let below = layers.flows.iter().map(|seen| {
        let device = seen.interface.as_deref().map_or(dash(), in_line);
        let place = "below this host's network driver, in hardware or on the path".to_owned();
        Some((place, device, seen.delay(Layer::Below)?))
    });
    let longest = waits.chain(below).flatten().max_by_key(|(.., wait)| *wait);
    let sockets = layers.flows.iter();
    let sockets = sockets.filter_map(|seen| Some((seen, seen.delay(Layer::Socket)?)));
    let socket = sockets.max_by_key(|(_, wait)| *wait);
    let Some((place, device, wait)) = longest else {
        return "No verdict: no packet was timed.".to_owned();
    };
    let mut sentence = watched(place, &device, wait);
    if let Some((seen, in_socket)) = socket.filter(|(_, in_socket)| *in_socket > wait) {
        let whose = process(seen).unwrap_or_else(|| seen.flow.to_string());
        let in_socket = ms(in_socket);
        sentence += &format!(
            " Data of {whose} waits {in_socket} in its own socket, which nobody else notices."
        );
    }
    Kind::of(wait).tone().paint(&sentence)
}

fn process(seen: &FlowLayers) -> Option<String> {
    let process = seen.process.as_ref()?;
    Some(in_line(&format!("{} ({})", process.name, process.pid)))
}

fn mean(wait: &Wait) -> Delta {
    match wait {
        Wait::Estimated(delta) => *delta,
        Wait::Measured(spread) => spread.mean,
    }
}

/// Columns from `right` on hold numbers.
fn table<const N: usize>(
    names: &[&str; N],
    right: usize,
    rows: impl Iterator<Item = [String; N]>,
) -> Table {
    let mut table = Table::new(right).head(names.iter().copied());
    rows.for_each(|row| table.row(row));
    table
}

fn interface(seen: &InterfaceLayers) -> [String; 8] {
    let queue = seen.queue.as_ref();
    let drops = seen.dropped + queue.map_or(0, |queue| queue.dropped);
    [
        in_line(&seen.name),
        queue.map_or(dash(), |queue| in_line(&queue.kind)),
        queue.map_or(dash(), |queue| queue.backlog.to_string()),
        wait(seen.qdisc.as_ref()),
        p95(seen.qdisc.as_ref()),
        wait(seen.driver.as_ref()),
        rate(seen.rates.left.or(seen.rates.done)),
        drops.to_string(),
    ]
}

fn flow(seen: &FlowLayers) -> [String; 13] {
    [
        seen.flow.to_string(),
        seen.interface.as_deref().map_or(dash(), in_line),
        process(seen).unwrap_or(dash()),
        seen.delay(Layer::Socket).map_or(dash(), ms),
        wait(seen.qdisc.as_ref()),
        p95(seen.qdisc.as_ref()),
        wait(seen.driver.as_ref()),
        seen.delay(Layer::Below).map_or(dash(), ms),
        wait(seen.round_trip.rtt_q.as_ref()),
        wait(seen.round_trip.rtt_f.as_ref()),
        rate(seen.rates.left.or(seen.rates.sent)),
        rate(seen.rates.acknowledged),
        seen.worst().map_or(dash(), |(layer, _)| layer.to_string()),
    ]
}

fn wait(wait: Option<&Wait>) -> String {
    match wait {
        None => dash(),
        Some(Wait::Estimated(delta)) => format!("~{}", ms(*delta)),
        Some(measured) => ms(mean(measured)),
    }
}

fn p95(wait: Option<&Wait>) -> String {
    wait.and_then(Wait::spread)
        .map_or(dash(), |spread| ms(spread.p95))
}

fn ms(delta: Delta) -> String {
    format!("{:.2} ms", delta.as_ms())
}

fn rate(rate: Option<Rate>) -> String {
    rate.map_or(dash(), |rate| {
        format!("{:.3} Mbit/s", rate.as_bps_f64() / 1e6)
    })
}

fn dash() -> String {
    "-".to_owned()
}
