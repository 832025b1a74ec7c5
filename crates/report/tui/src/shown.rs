//! The view of a running experiment, and what the person at the terminal has chosen.

use crate::screen::ends;
use crate::{Live, Snapshot, draw};
use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::{Alignment, Constraint, Layout};
use ratatui::style::Stylize;
use ratatui::text::Line;
use ratatui::widgets::{Clear, Paragraph};
use unbloat_text::Layout as TextLayout;

const HELP: &str = "\
Each direction of the path
  backlog    bytes and packets that wait on the path now, and how long the last one waited
  rate       delivered in the last second; curves show the past, the newest at the right, `top` is their highest value
  drops      packets dropped, of these in the last second; marks: ECN marks
  wait p95   95 of 100 waits since the run began (100 s at most) were shorter
  late       how much later than due the emulator sent packets; beyond its bound a run is NOT TRUSTWORTHY
Flows
  conns      open connections; rate: delivered in the last second
  cwnd, in flight, srtt, retransmits: as the kernel or the simulator says
Keys
  space p    pause the display; the run goes on
  ? h        this help; Esc closes it
  q          end the run and keep its results; also Ctrl-C
";

#[derive(Clone, Debug, Default)]
pub struct LiveView {
    live: Live,
    /// What is shown while the view is paused.
    frozen: Option<Live>,
    is_helping: bool,
}

impl LiveView {
    pub fn new(title: impl Into<String>) -> LiveView {
        LiveView {
            live: Live::new(title),
            ..LiveView::default()
        }
    }

    pub fn take(&mut self, snapshot: Snapshot) {
        self.live.take(snapshot);
    }

    pub fn live(&self) -> &Live {
        &self.live
    }

    /// Does what a key asks for; whether it ends the run.
    pub fn press(&mut self, key: KeyEvent) -> bool {
        match key.code {
            _ if ends(key) => return true,
            KeyCode::Char('?' | 'h') | KeyCode::F(1) => self.is_helping = !self.is_helping,
            KeyCode::Esc => self.is_helping = false,
            KeyCode::Char(' ' | 'p') => {
                self.frozen = match self.frozen {
                    None => Some(self.live.clone()),
                    Some(_) => None,
                };
            }
            _ => {}
        }
        false
    }

    pub fn draw(&self, frame: &mut Frame<'_>) {
        draw(self.frozen.as_ref().unwrap_or(&self.live), frame);
        let [head, _, body, _] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Min(0),
            Constraint::Length(1),
        ])
        .areas(frame.area());
        if self.frozen.is_some() {
            let paused = Line::from(" PAUSED ".yellow().bold());
            frame.render_widget(paused.alignment(Alignment::Right), head);
        }
        if self.is_helping {
            let layout = TextLayout {
                columns: Some(usize::from(body.width)),
                has_colours: false,
            };
            frame.render_widget(Clear, body);
            frame.render_widget(Paragraph::new(layout.lay(HELP.trim_end())), body);
        }
    }
}
