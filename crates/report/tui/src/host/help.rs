//! The help screen: columns, colours, keys.

use super::Controls;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Stylize;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;
use unbloat_text::Layout;

const HELP: &str = "\
application > socket > queue discipline > driver > below: link, path, peer
Columns
  socket    data that TCP has not sent yet
  T_Q       wait in the queue discipline of the device (`tc qdisc`)
  T_D       wait in the driver, until the device has sent the packet
  below     delay added below the driver: firmware, link, path, peer
  RTT_Q     round trip, from above the queue discipline
  out       rate at which packets leave the queue discipline
  acked     rate that the peer acknowledges
  backlog   bytes in the queue discipline now
  so far    past samples, the newest at the right
  ~         estimated, not measured; - unknown; bold: the flow's longest wait
Keys
  ? h       this help; Esc closes it
  /         show only flows with a text: process, address, port, device
  Esc       show all flows again
  s S       sort by the next, the previous column; r reverses
  space p   pause the display; measuring goes on
  Up Down   scroll; also k j, PgUp PgDn, Home
  q         quit; also Ctrl-C
";

pub(super) fn draw_help(controls: &mut Controls, area: Rect, frame: &mut Frame<'_>) {
    let layout = Layout {
        columns: Some(usize::from(area.width)),
        has_colours: false,
    };
    let text = layout.lay(HELP.trim_end());
    let line = |line: &str| match line.starts_with(' ') {
        true => Line::from(line.to_owned()),
        false => Line::from(line.to_owned().bold()),
    };
    let lines: Vec<Line<'_>> = text.lines().map(line).collect();
    let most = lines.len().saturating_sub(usize::from(area.height));
    controls.skipped = controls.skipped.min(most);
    let shown = Paragraph::new(lines).scroll((controls.skipped as u16, 0));
    frame.render_widget(shown, area);
}
