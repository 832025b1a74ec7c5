//! One HTML file for each paper, and its scenarios.

use crate::exit::{Failure, cannot};
use std::path::{Path, PathBuf};
use unbloat_html::render_paper;
use unbloat_os::files::{self, Replacement};
use unbloat_paper::{Made, Paper};

/// Writes `PAPER.html` and the scenarios `PAPER/*.toml` into a run's folder. Returns the pages.
pub fn write(dir: &Path, papers: &[Paper], made: &[Made]) -> Result<Vec<PathBuf>, Failure> {
    let mut pages = Vec::new();
    for (paper, figures) in papers.iter().filter_map(|paper| {
        let mut of_paper = made.chunk_by(|a, b| a.paper.id == b.paper.id);
        let figures = of_paper.find(|figures| figures[0].paper.id == paper.id)?;
        Some((paper, figures))
    }) {
        let page = dir.join(format!("{}.html", paper.id));
        let mut out = Replacement::of(&page).map_err(cannot("write", &page))?;
        render_paper(papers, figures, &mut out)?;
        out.put().map_err(cannot("write", &page))?;
        let scenarios = dir.join(&paper.id);
        std::fs::create_dir_all(&scenarios).map_err(cannot("write", &scenarios))?;
        for (name, text) in &paper.scenarios {
            let file = scenarios.join(name);
            files::replace(&file, text).map_err(cannot("write", &file))?;
        }
        pages.push(page);
    }
    Ok(pages)
}
