//! The report: one folder that opens offline in a browser, with each figure also as SVG and CSV.

mod axis;
mod page;
mod svg;

use std::fs;
use std::io;
use std::path::Path;

use crate::figure::Figure;

pub use page::Provenance;
pub use svg::draw;

/// Writes the report into a folder, which is made if it is not there. Each file is complete or not there at all.
///
/// # Errors
/// Whatever the file system says, with the path it was about.
pub fn write(folder: &Path, figures: &[Figure], provenance: &Provenance) -> io::Result<()> {
    fs::create_dir_all(folder).map_err(|error| named(folder, &error))?;
    for figure in figures {
        let stem = figure.file_stem();
        replace(&folder.join(format!("{stem}.svg")), draw(figure).as_bytes())?;
        replace(&folder.join(format!("{stem}.csv")), &csv_of(figure)?)?;
    }
    replace(&folder.join("index.html"), page::index(figures, provenance).as_bytes())
}

fn csv_of(figure: &Figure) -> io::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(["plot", "series", "x", "y", "sd_over_runs"])?;
    for row in figure.plots.iter().flat_map(crate::figure::Plot::csv_rows) {
        writer.write_record(&row)?;
    }
    writer.into_inner().map_err(csv::IntoInnerError::into_error)
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Writes beside the file and then renames, so that nobody ever sees half of it.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("partial");
    fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, path)).map_err(|error| named(path, &error))
}
