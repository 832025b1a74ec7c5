//! What became of all requests together.

use crate::echo::{Echo, Fate};

/// What became of all requests. Shares are of what could have been lost there, so the two losses do not add up to the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    pub sent: u64,
    /// Requests with a reply.
    pub answered: u64,
    /// Requests that may still be answered.
    pub pending: u64,
    pub lost_up: u64,
    pub lost_down: u64,
    /// Lost in a direction that nothing tells.
    pub lost_somewhere: u64,
    /// Requests that came to the server again: by its count, or by replies with stamps of their own if it tells none.
    pub duplicates_up: u64,
    /// Replies that came again.
    pub duplicates_down: u64,
    /// Requests that reached the server after a later one.
    pub reordered_up: u64,
    /// Replies that came after one that the server had sent later.
    pub reordered_down: u64,
    /// Replies after that of a later request, as irtt counts it.
    pub late: u64,
}

impl Account {
    pub(crate) fn of(echoes: &[Echo]) -> Account {
        let mut account = Account {
            sent: echoes.len() as u64,
            ..Account::default()
        };
        for echo in echoes {
            account.add(echo);
        }
        if let Some(count) = echoes.iter().filter_map(|echo| echo.received_count).max() {
            account.settle_duplicates(u64::from(count));
        }
        (account.reordered_up, account.reordered_down) = reordered(echoes);
        account
    }

    fn add(&mut self, echo: &Echo) {
        *match echo.fate {
            Fate::Pending => &mut self.pending,
            Fate::Answered => &mut self.answered,
            Fate::LostUp => &mut self.lost_up,
            Fate::LostDown => &mut self.lost_down,
            Fate::Lost => &mut self.lost_somewhere,
        } += 1;
        self.late += u64::from(echo.late);
        self.duplicates_up += u64::from(echo.duplicates_up);
        self.duplicates_down += u64::from(echo.duplicates_down);
    }

    /// The server's count knows of duplicates whose replies were lost, and that a reply to one may itself have come twice.
    fn settle_duplicates(&mut self, count: u64) {
        let up = count.saturating_sub(self.sent - self.lost_up);
        self.duplicates_down += self.duplicates_up.saturating_sub(up);
        self.duplicates_up = up;
    }

    /// Share of requests that never reached the server, of those whose fate is known. None without any.
    pub fn loss_up(&self) -> Option<f64> {
        share(self.lost_up, self.answered + self.lost_down)
    }

    /// Share of replies that never reached the client, of those that the server sent. None without any.
    pub fn loss_down(&self) -> Option<f64> {
        share(self.lost_down, self.answered)
    }

    /// Share of requests that were not answered, of those whose fate is settled. None without any.
    pub fn loss(&self) -> Option<f64> {
        share(
            self.lost_up + self.lost_down + self.lost_somewhere,
            self.answered,
        )
    }
}

fn share(lost: u64, kept: u64) -> Option<f64> {
    let all = lost + kept;
    (all > 0).then(|| lost as f64 / all as f64)
}

/// How many requests and how many replies were overtaken (RFC 4737, section 3: less than the greatest before it).
fn reordered(echoes: &[Echo]) -> (u64, u64) {
    // The server answers in the order in which requests come, so its count orders both.
    let mut answered: Vec<_> = echoes
        .iter()
        .filter_map(|echo| Some((echo.received_count?, echo.seq, echo.received?.mono)))
        .collect();
    answered.sort_unstable();
    let up = overtaken(answered.iter().map(|&(_, seq, _)| seq));
    answered.sort_unstable_by_key(|&(count, _, at)| (at, count));
    let down = overtaken(answered.iter().map(|&(count, _, _)| count));
    (up, down)
}

fn overtaken(order: impl Iterator<Item = u32>) -> u64 {
    let mut greatest = 0;
    let mut overtaken = 0;
    for number in order {
        overtaken += u64::from(number < greatest);
        greatest = greatest.max(number);
    }
    overtaken
}
