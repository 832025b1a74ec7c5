//! One HTML file for each paper, and its scenarios.

use super::PaperCommandError;
use std::path::{Path, PathBuf};
use unbloat_html::render_paper;
use unbloat_os::files::{self, Replacement};
use unbloat_paper::{Made, Paper};

/// Writes `PAPER.html` and the scenarios `PAPER/*.toml` into a run's folder. Returns the pages.
pub fn write(
    dir: &Path,
    papers: &[Paper],
    made: &[Made],
) -> Result<Vec<PathBuf>, PaperCommandError> {
    let mut pages = Vec::new();
    for (paper, figures) in papers.iter().filter_map(|paper| {
        let mut of_paper = made.chunk_by(|a, b| a.paper.id == b.paper.id);
        let figures = of_paper.find(|figures| figures[0].paper.id == paper.id)?;
        Some((paper, figures))
    }) {
        let page = dir.join(format!("{}.html", paper.id));
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| PaperCommandError::Write { path, source }
        };
        let mut out = Replacement::of(&page).map_err(failed(&page))?;
        render_paper(papers, figures, &mut out)?;
        out.put().map_err(failed(&page))?;
        let scenarios = dir.join(&paper.id);
        std::fs::create_dir_all(&scenarios).map_err(failed(&scenarios))?;
        for (name, text) in &paper.scenarios {
            let file = scenarios.join(name);
            files::replace(&file, text).map_err(failed(&file))?;
        }
        pages.push(page);
    }
    Ok(pages)
}
