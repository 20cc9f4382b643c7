//! Who sees what: areas of interest around the places from which players look.

use std::collections::BTreeMap;

use evenkeel_core::{PeerId, Span, Vec3};

use crate::object::{ObjectId, Owner, Value};

/// The area around a player's objects in which it sees others.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub enum Area {
    /// Everything.
    #[default]
    Everywhere,
    /// Up to a distance. The larger one is for leaving, so that nobody flickers at the edge.
    Radius {
        /// The distance to enter.
        enter: f64,
        /// The distance to leave.
        leave: f64,
    },
    /// Cells of a grid: what is in the same cell or at most `reach` cells away.
    Grid {
        /// The length of a cell's side.
        cell: f64,
        /// Cells to each side.
        reach: u16,
    },
}

impl Area {
    /// The distance beyond which nothing enters; `None` if there is none.
    fn extent(&self) -> Option<f64> {
        match *self {
            Self::Everywhere => None,
            Self::Radius { enter, leave } => Some(enter.max(leave)),
            Self::Grid { cell, reach } => Some(cell * (f64::from(reach) + 1.0)),
        }
    }

    /// Whether something is seen from a place.
    fn has(&self, from: Vec3, at: Vec3, is_inside: bool) -> bool {
        match *self {
            Self::Everywhere => true,
            Self::Radius { enter, leave } => {
                let limit = if is_inside { enter.max(leave) } else { enter };
                (at - from).length_squared() <= limit * limit
            }
            Self::Grid { cell, reach } => {
                let apart = |a: f64, b: f64| ((a / cell).floor() - (b / cell).floor()).abs();
                let apart = apart(from.x, at.x).max(apart(from.y, at.y)).max(apart(from.z, at.z));
                apart <= f64::from(reach)
            }
        }
    }
}

/// What a game says of an object and a player.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub enum Interest {
    /// As the area says, the nearer the more important.
    #[default]
    ByArea,
    /// Out of scope: it costs nothing, and the player does not learn that it exists.
    Hidden,
    /// In scope, with this priority; 1 is that of an object at the player's own place. It counts for fields and for motion: the
    /// error of an object's motion weighs as many times as much at this player.
    Seen(f32),
}

/// An object, as a game's own function is asked about it.
#[derive(Clone, Copy, Debug)]
pub struct ObjectView<'a> {
    /// Its name.
    pub object: ObjectId,
    /// Its kind.
    pub kind: u16,
    /// Its owner.
    pub owner: Owner,
    /// The values of its fields.
    pub values: &'a [Value],
    /// Where it is, if it moves and that is known.
    pub position: Option<Vec3>,
    /// Whether its owner is away and may come back. Nobody sees it meanwhile.
    pub is_held: bool,
}

/// Where a player looks from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Viewpoints {
    places: BTreeMap<ObjectId, Vec3>,
}

impl Viewpoints {
    /// Moves the viewpoints to a player's objects, at most as fast as it may look about. Returns how many were faster.
    pub(crate) fn follow(
        &mut self,
        objects: impl Iterator<Item = (ObjectId, Vec3)>,
        elapsed: Span,
        speed_max: f64,
    ) -> u64 {
        let before = core::mem::take(&mut self.places);
        let reach = speed_max * elapsed.as_secs_f64().max(0.0);
        // A new object may be anywhere once; but not more often than it could have got there.
        let anchor = before.values().next().copied();
        let mut leaps = 0;
        for (object, at) in objects {
            let from = before.get(&object).copied().or(anchor);
            let place = match from {
                Some(from) if (at - from).length() > reach => {
                    leaps += 1;
                    from + (at - from) * (reach / (at - from).length())
                }
                _ => at,
            };
            self.places.insert(object, place);
        }
        // A player without an object goes on looking from its last place.
        if self.places.is_empty() {
            self.places = before;
        }
        leaps
    }

    /// Begins at the first object of a player that has looked from nowhere yet.
    pub(crate) fn begin(&mut self, object: ObjectId, at: Vec3) {
        if self.places.is_empty() {
            self.places.insert(object, at);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Vec3> {
        self.places.values().copied()
    }

    /// How near a place is to where the player looks from, and whether it is in its area.
    pub(crate) fn sees(&self, area: &Area, at: Vec3, is_inside: bool) -> Option<f32> {
        let extent = area.extent();
        let near = self.iter().filter(|from| area.has(*from, at, is_inside));
        let nearest = near.map(|from| (at - from).length()).reduce(f64::min);
        match (nearest, extent) {
            (Some(distance), Some(extent)) => Some((1.0 - 0.9 * (distance / extent).min(1.0)) as f32),
            (Some(_), None) => Some(1.0),
            (None, None) => Some(1.0),
            (None, Some(_)) => None,
        }
    }
}

/// The objects that move, by the cells of a grid as wide as the area, so that a player meets only those around it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cells {
    cell: f64,
    objects: BTreeMap<[i64; 3], Vec<u32>>,
}

impl Cells {
    pub(crate) fn new(area: &Area) -> Option<Self> {
        area.extent().map(|cell| Self { cell: cell.max(1e-6), objects: BTreeMap::new() })
    }

    fn cell(&self, at: Vec3) -> [i64; 3] {
        [at.x, at.y, at.z].map(|axis| (axis / self.cell).floor() as i64)
    }

    pub(crate) fn insert(&mut self, place: u32, at: Vec3) {
        let cell = self.cell(at);
        self.objects.entry(cell).or_default().push(place);
    }

    /// The places of the objects around a viewpoint.
    pub(crate) fn around(&self, from: Vec3) -> impl Iterator<Item = u32> {
        let [x, y, z] = self.cell(from);
        (-1..=1).flat_map(move |dx: i64| (-1..=1).map(move |dy: i64| (dx, dy))).flat_map(move |(dx, dy)| {
            let column = [x.saturating_add(dx), y.saturating_add(dy), z.saturating_sub(1)];
            let end = [column[0], column[1], z.saturating_add(1)];
            self.objects.range(column..=end).flat_map(|(_, places)| places.iter().copied())
        })
    }
}

/// What is asked about every player and object.
pub type ScopeRule<'a> = dyn FnMut(PeerId, &ObjectView<'_>) -> Interest + 'a;
