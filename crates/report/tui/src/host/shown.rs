//! The view of `unbloat watch`: what was seen, and what the person at the terminal has chosen.

use super::view::draw;
use super::{Controls, HostLive};
use ratatui::Frame;
use ratatui::crossterm::event::KeyEvent;
use unbloat_watch::Layers;

#[derive(Clone, Debug, Default)]
pub struct HostView {
    pub(super) live: HostLive,
    /// What is shown while the view is paused.
    pub(super) frozen: Option<HostLive>,
    pub(super) controls: Controls,
    /// The devices were chosen: they are shown even if they are idle.
    pub(super) is_chosen: bool,
}

impl HostView {
    /// `title` says what is watched, `estimated` why nothing is measured in the kernel, if so.
    pub fn new(title: impl Into<String>, estimated: Option<String>, is_chosen: bool) -> HostView {
        HostView {
            live: HostLive::new(title, estimated),
            is_chosen,
            ..HostView::default()
        }
    }

    /// Takes in what is seen now.
    pub fn take(&mut self, layers: Layers) {
        self.live.take(layers);
    }

    /// Does what a key asks for; whether it ends the view.
    pub fn press(&mut self, key: KeyEvent) -> bool {
        let ends = self.controls.press(key);
        match (self.controls.is_paused, &self.frozen) {
            (true, None) => self.frozen = Some(self.live.clone()),
            (false, Some(_)) => self.frozen = None,
            _ => {}
        }
        ends
    }

    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        draw(self, frame);
    }

    pub(super) fn shown(&self) -> &HostLive {
        self.frozen.as_ref().unwrap_or(&self.live)
    }
}
