//! The report: a folder that opens offline in a browser, with each figure also as SVG and CSV.

mod axis;
mod page;
mod svg;

use crate::figure::{Figure, Plot};
use crate::papers::Results;

pub use page::Provenance;
pub use svg::{Layout, draw};

/// Returns the files of the report by name: `index.html` (the overview), a page for each paper and study, those of the
/// claims that do not hold and of all policies, and an SVG and a CSV file for each figure.
#[must_use]
pub fn files(results: &Results, provenance: &Provenance) -> Vec<(String, Vec<u8>)> {
    let pages = page::pages(results, provenance).into_iter();
    let mut files: Vec<(String, Vec<u8>)> = pages.map(|(name, page)| (name, page.into_bytes())).collect();
    for figure in &results.figures {
        let stem = figure.file_stem();
        files.push((format!("{stem}.svg"), svg::file(figure, &provenance.note(figure)).into_bytes()));
        files.push((format!("{stem}.csv"), csv_of(figure, &provenance.commit)));
    }
    files
}

/// Returns the points of a figure as CSV. The commit is a column because CSV readers do not know comments.
fn csv_of(figure: &Figure, commit: &str) -> Vec<u8> {
    const HEAD: [&str; 6] = ["plot", "series", "x", "y", "sd_over_runs", "commit"];
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(HEAD).expect("writing to memory does not fail");
    for mut row in figure.plots.iter().flat_map(Plot::csv_rows) {
        row.push(commit.to_owned());
        writer.write_record(&row).expect("writing to memory does not fail");
    }
    writer.into_inner().expect("writing to memory does not fail")
}
