//! The `[motion]` table of a scenario file.

use evenkeel_games::{Driver, Trace};

use super::document::Field;
use super::limits::TANKS_MAX;
use super::parse::ReadFile;
use super::{Motion, ScenarioError};

/// Parses how the entities move.
pub(super) fn motion(field: &Field<'_>, read: &mut ReadFile<'_>) -> Result<Motion, ScenarioError> {
    let kinds: [(&str, &[&str]); 4] =
        [("random", &[]), ("linear", &[]), ("circular", &[]), ("trace", &["file", "tank"])];
    let (kind, section) = field.kinds(&kinds)?;
    match kind {
        0 => return Ok(Motion::Driven(Driver::Random)),
        1 => return Ok(Motion::Driven(Driver::Linear)),
        2 => return Ok(Motion::Driven(Driver::Circular)),
        _ => {}
    }
    let file = section.required("file", "the path of a CSV file of recorded tanks")?;
    let trace = Trace::parse(&read(&file)?).map_err(|error| file.wrong(error))?;
    let numbers: Vec<_> = trace.tanks().iter().map(u32::to_string).collect();
    let Some(field) = section.field("tank") else {
        if numbers.len() > TANKS_MAX {
            let (found, max) = (numbers.len(), TANKS_MAX);
            return Err(
                file.wrong(format!("{found} tanks, but at most {max} can run at once: choose one with tank"))
            );
        }
        let cursors = trace.tanks().iter().filter_map(|number| trace.tank(*number));
        return Ok(Motion::Recorded(cursors.map(|tank| tank.cursor()).collect()));
    };
    let what = format!("the tanks in that file are {}", numbers.join(", "));
    let tank = u32::try_from(field.whole(&what)?).ok().and_then(|number| trace.tank(number));
    tank.map(|tank| Motion::Recorded(vec![tank.cursor()])).ok_or_else(|| field.wrong(what))
}
