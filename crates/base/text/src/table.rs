//! Tables of words and numbers.

use crate::tone::width;

/// Spaces between two columns.
const GAP: usize = 2;

/// Columns side by side. Where there is no room for all of them, several tables stand one below the other, each with the columns that name the rows; where
/// those leave no room, each row is a paragraph.
#[derive(Clone, Debug, Default)]
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    texts: usize,
}

impl Table {
    /// The first `texts` columns hold words and name the row; the others hold numbers.
    pub fn new(texts: usize) -> Table {
        Table {
            texts,
            ..Table::default()
        }
    }

    pub fn head(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Table {
        self.head = names.into_iter().map(Into::into).collect();
        self
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// For so many columns of a terminal; none: as wide as it is. Without a line feed at its end.
    pub fn text(&self, columns: Option<usize>) -> String {
        let has_head = !self.head.is_empty();
        let lines = has_head.then_some(&self.head).into_iter();
        let lines: Vec<&Vec<String>> = lines.chain(&self.rows).collect();
        let count = lines.iter().map(|line| line.len()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..count)
            .map(|i| {
                let cells = lines.iter().filter_map(|line| line.get(i));
                cells.map(|cell| width(cell)).max().unwrap_or(0)
            })
            .collect();
        let all: Vec<usize> = (0..count).collect();
        let parts = match columns {
            Some(columns) => self.parts(&widths, columns),
            None => Some(vec![all]),
        };
        match (parts, columns) {
            (Some(parts), _) => {
                let parts = parts.iter().map(|part| self.aligned(&lines, &widths, part));
                parts.collect::<Vec<_>>().join("\n\n")
            }
            (None, columns) => self.paragraphs(columns.unwrap_or(usize::MAX)),
        }
    }

    /// The columns of each table; none if the names take more than half of the room.
    fn parts(&self, widths: &[usize], columns: usize) -> Option<Vec<Vec<usize>>> {
        let need = |part: &[usize]| part.iter().map(|i| widths[*i] + GAP).sum::<usize>();
        // Behind the last column is no gap.
        let room = columns + GAP;
        let all: Vec<usize> = (0..widths.len()).collect();
        if need(&all) <= room {
            return Some(vec![all]);
        }
        let (names, numbers) = all.split_at(self.texts.min(all.len()));
        if self.head.is_empty() || 2 * need(names) > room {
            return None;
        }
        let mut parts = vec![names.to_vec()];
        for i in numbers {
            let last = parts.last_mut()?;
            match last.len() > names.len() && need(last) + widths[*i] + GAP > room {
                true => parts.push([names, &[*i]].concat()),
                false => last.push(*i),
            }
        }
        parts.iter().all(|part| need(part) <= room).then_some(parts)
    }

    fn aligned(&self, lines: &[&Vec<String>], widths: &[usize], part: &[usize]) -> String {
        let line = |cells: &&Vec<String>| {
            let cells = part.iter().filter_map(|i| Some((*i, cells.get(*i)?)));
            let cells = cells.map(|(i, cell)| {
                let room = " ".repeat(widths[i] - width(cell));
                match i < self.texts {
                    true => format!("{cell}{room}"),
                    false => format!("{room}{cell}"),
                }
            });
            let line = cells.collect::<Vec<_>>().join(&" ".repeat(GAP));
            line.trim_end().to_owned()
        };
        lines.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// What names the row, then its numbers with their names, those of a column below each other.
    fn paragraphs(&self, columns: usize) -> String {
        let named = |row: &Vec<String>| -> Vec<String> {
            let cells = row.iter().enumerate();
            let named = cells.map(|(i, cell)| match self.head.get(i) {
                Some(name) => format!("{name} {cell}"),
                None => cell.clone(),
            });
            named.collect()
        };
        let all: Vec<Vec<String>> = self.rows.iter().map(named).collect();
        let widest = |i: usize| {
            let cells = all.iter().filter_map(|row| row.get(i));
            cells.map(|cell| width(cell)).max().unwrap_or(0)
        };
        let mut text = String::new();
        for row in &all {
            let (texts, numbers) = row.split_at(self.texts.min(row.len()));
            text.push_str(&texts.join("  "));
            let mut used = columns;
            for (i, cell) in (texts.len()..).zip(numbers) {
                let wide = widest(i) + GAP;
                if used + wide > columns {
                    text.push_str("\n  ");
                    used = 2;
                }
                text.push_str(cell);
                text.push_str(&" ".repeat(wide - width(cell)));
                used += wide;
            }
            text.push('\n');
        }
        let lines = text.lines().map(str::trim_end);
        lines.collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(1).head(["device", "T_Q", "drops"]);
        table.row(["wan0", "80.00 ms", "4"]);
        table.row(["漢", "-", "12345"]);
        table
    }

    #[test]
    fn words_stand_left_and_numbers_right() {
        let expected = "device       T_Q  drops\nwan0    80.00 ms      4\n漢             -  12345";
        assert_eq!(table().text(None), expected);
        assert_eq!(table().text(Some(23)), expected);
    }

    #[test]
    fn columns_without_room_stand_below_with_the_names_again() {
        assert_eq!(
            table().text(Some(22)),
            "device       T_Q\nwan0    80.00 ms\n漢             -\n\ndevice  drops\nwan0        4\n漢      12345"
        );
    }

    #[test]
    fn where_names_leave_no_room_each_row_is_a_paragraph() {
        let mut wide = table();
        wide.row(["a device with a long name", "1.00 ms", "0"]);
        assert_eq!(
            wide.text(Some(30)),
            "device wan0\n  T_Q 80.00 ms  drops 4\ndevice 漢\n  T_Q -         drops 12345\ndevice a device with a long name\n  T_Q 1.00 ms   drops 0"
        );
        assert_eq!(
            table().text(Some(12)),
            "device wan0\n  T_Q 80.00 ms\n  drops 4\ndevice 漢\n  T_Q -\n  drops 12345"
        );
    }

    #[test]
    fn a_table_without_head_or_rows_is_no_trouble() {
        assert_eq!(Table::new(2).text(Some(5)), "");
        let mut bare = Table::new(2);
        bare.row(["down", "queue_delay_p95_ms", "200.3"]);
        assert_eq!(bare.text(Some(20)), "down  queue_delay_p95_ms\n  200.3");
    }
}
