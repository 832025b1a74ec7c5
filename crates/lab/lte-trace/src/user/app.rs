//! What applications ask for, answer and read.

use super::{Task, User};
use unbloat_units::{Delta, Direction, Time};

/// How often a paced reader reads.
const READ_EVERY: Delta = Delta::ms(100);

impl User {
    /// The client begins the current exchange.
    pub(super) fn exchange(&mut self, number: u32) {
        let now = self.now;
        let flow = self.flow_at(number);
        let Some(connection) = &mut flow.connection else {
            return;
        };
        let Some(exchange) = flow.plan.exchanges.get(connection.exchange) else {
            return;
        };
        let (down, up) = (exchange.payload.down, exchange.payload.up);
        if up > 0 {
            flow.heads.up.push((connection.asked, up));
            connection.asked += up;
            self.write(number, Direction::Up, up);
        } else if down > 0 {
            // The server speaks first: when it knows of the connection.
            let at = now + flow.plan.core_rtt + flow.plan.wait;
            self.agenda.plan(at, Task::Respond(number));
        } else {
            self.finish(number);
        }
    }

    /// The server answers the current exchange.
    pub(super) fn respond(&mut self, number: u32) {
        let flow = self.flow_at(number);
        let Some(connection) = &mut flow.connection else {
            return;
        };
        let down = flow.plan.exchanges[connection.exchange].payload.down;
        flow.heads.down.push((connection.promised, down));
        connection.promised += down;
        connection.is_answered = true;
        self.write(number, Direction::Down, down);
    }

    /// The application at the end of that direction reads what it wants.
    pub(super) fn read(&mut self, number: u32, direction: Direction) {
        let now = self.now;
        let pace = (self.params.read_ahead, self.params.read_rate);
        let flow = self.flow_at(number);
        let Some(connection) = &mut flow.connection else {
            return;
        };
        let is_paced = flow.plan.is_paced && direction == Direction::Down;
        let since = *connection.read_since.get_or_insert(now);
        let budget = if is_paced {
            let paced = pace.1.as_bps_f64() / 8.0 * now.since(since).as_secs();
            (pace.0.as_u64() + paced as u64).saturating_sub(connection.read)
        } else {
            u64::MAX
        };
        let receiver = &mut connection.halves[direction].receiver;
        let bytes = if receiver.is_worth_reading() {
            receiver.read(now, budget)
        } else {
            0
        };
        let (received, is_left) = (receiver.received(), receiver.readable() > 0);
        if is_paced && is_left && !connection.read_armed {
            connection.read_armed = true;
            self.agenda.plan(now + READ_EVERY, Task::Read(number));
        }
        if bytes > 0 {
            self.flow_at(number).truth.read[direction] += bytes;
            self.acknowledge(number, direction);
            match direction {
                Direction::Up => self.on_request(number, received),
                Direction::Down => self.on_response(number, bytes),
            }
        }
    }

    pub(super) fn on_read_timer(&mut self, number: u32) {
        if let Some(connection) = &mut self.flow_at(number).connection {
            connection.read_armed = false;
            self.read(number, Direction::Down);
        }
    }

    fn on_request(&mut self, number: u32, received: u64) {
        let now = self.now;
        let flow = self.flow_at(number);
        let Some(connection) = &mut flow.connection else {
            return;
        };
        let exchange = flow.plan.exchanges.get(connection.exchange);
        let Some(exchange) = exchange.filter(|_| received == connection.asked) else {
            return;
        };
        if exchange.payload.down == 0 {
            self.finish(number);
        } else {
            let at = now + flow.plan.wait;
            self.agenda.plan(at, Task::Respond(number));
        }
    }

    fn on_response(&mut self, number: u32, bytes: u64) {
        if let Some(connection) = &mut self.flow_at(number).connection {
            connection.read += bytes;
            if connection.is_answered && connection.read == connection.promised {
                self.finish(number);
            }
        }
    }

    /// The current exchange is over: the next one, or the end, comes at its time.
    fn finish(&mut self, number: u32) {
        let now = self.now;
        let flow = self.flow_at(number);
        let Some(connection) = &mut flow.connection else {
            return;
        };
        connection.exchange += 1;
        connection.is_answered = false;
        let opened = connection.opened.unwrap_or(now);
        let soon = now + Delta::ms(1);
        let (at, task): (Time, Task) = match flow.plan.exchanges.get(connection.exchange) {
            Some(next) => (opened + next.at, Task::Exchange(number)),
            None => (opened + flow.plan.close, Task::Close(number)),
        };
        self.agenda.plan(at.max(soon), task);
    }
}
