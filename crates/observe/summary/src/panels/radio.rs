//! Time and energy of the radio (§4.1, §7).

use crate::findings::Findings;
use crate::panel::Panel;
use crate::view::View;
use unbloat_table::Row;
use unbloat_trace::tables::UserRow;

#[derive(Default)]
pub(crate) struct Radio {
    users: u64,
    promotions: u64,
    active_s: f64,
    tail_s: f64,
    idle_s: f64,
    energy_j: f64,
    avoidable_j: f64,
}

impl Panel for Radio {
    fn table(&self) -> &'static str {
        UserRow::NAME
    }

    fn add(&mut self, view: &View) {
        let promotions = view.column(UserRow::promotions);
        let sums = [
            (UserRow::active_s, &mut self.active_s),
            (UserRow::tail_s, &mut self.tail_s),
            (UserRow::idle_s, &mut self.idle_s),
            (UserRow::energy_j, &mut self.energy_j),
            (UserRow::avoidable_energy_j, &mut self.avoidable_j),
        ];
        for (name, sum) in sums {
            let column = view.column(name);
            // One by one: a sum of sums would depend on how many rows come at once.
            view.rows()
                .filter_map(|row| column.f64(row))
                .for_each(|value| *sum += value);
        }
        self.users += view.rows().len() as u64;
        self.promotions += view
            .rows()
            .filter_map(|row| promotions.u64(row))
            .sum::<u64>();
    }

    fn finish(&self, found: &mut Findings) {
        let users = self.users;
        let mut group = found.group("Radio, as if every client were on LTE (§4.1, §7)");
        group.count(
            "users",
            users,
            "users",
            "Client addresses; an hour of silence begins a new user.",
        );
        group.count(
            "promotions",
            self.promotions,
            "",
            "Times that the radio is woken.",
        );
        let total = self.active_s + self.tail_s + self.idle_s;
        let mut share = |metric: &str, part: f64, of: f64, doc: &str| {
            let value = (of > 0.0).then_some(100.0 * part / of);
            group.number(metric, value, ("%", None), users, doc);
        };
        share(
            "time active",
            self.active_s,
            total,
            "Packets within the active time-out.",
        );
        share(
            "time in the tail",
            self.tail_s,
            total,
            "Radio on, nothing to send.",
        );
        share("time idle", self.idle_s, total, "Radio off.");
        let doc = "Energy of late closes and of tails that they cause, by the run's power model.";
        share(
            "energy that was avoidable",
            self.avoidable_j,
            self.energy_j,
            doc,
        );
    }
}
