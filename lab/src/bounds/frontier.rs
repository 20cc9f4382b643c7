//! The frontier of sends and error: the least error with a number of sends, for one receiver or for all together.

use evenkeel_core::{SessionTime, Span};

use super::path::{ExportedPath, PathCosts};

/// A number of sends and the least error with it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FrontierPoint {
    /// Vectors sent.
    pub sends: f64,
    /// The error.
    pub error: f64,
}

/// A price per vector at which as few as possible are sent.
const PRICE_MAX: f64 = 1e9;

/// The lower convex hull of sends and error. Its corners are computed on demand.
#[derive(Clone, Debug)]
pub struct Frontier {
    costs: Vec<PathCosts>,
    /// The known corners by rising sends: none yet, or at least both ends.
    corners: Vec<Corner>,
}

#[derive(Clone, Copy, Debug)]
struct Corner {
    point: FrontierPoint,
    /// Whether the line to the next known corner is an edge of the hull.
    is_edge: bool,
}

impl Frontier {
    /// Creates the frontier of one receiver.
    #[must_use]
    pub fn new(paths: &[ExportedPath], delay: Span, until: SessionTime) -> Self {
        let costs = paths.iter().map(|path| PathCosts::new(path, delay, until)).collect();
        Self { costs, corners: Vec::new() }
    }

    /// Creates the frontier of the summed errors of several receivers.
    #[must_use]
    pub fn together(receivers: Vec<Self>) -> Self {
        Self {
            costs: receivers.into_iter().flat_map(|receiver| receiver.costs).collect(),
            corners: Vec::new(),
        }
    }

    /// The point of least error + price x sends.
    fn at_price(&self, price: f64) -> FrontierPoint {
        let (mut sends, mut error) = (0, 0.0);
        for costs in &self.costs {
            let (more, with) = costs.cheapest(price);
            sends += more;
            error += with;
        }
        FrontierPoint { sends: sends as f64, error }
    }

    /// The error if every vector is sent.
    #[must_use]
    pub fn floor(&self) -> f64 {
        self.costs.iter().map(PathCosts::error_if_all_sent).sum()
    }

    /// The least error with any number of sends. It may be below the floor: sending a vector can increase the error.
    #[must_use]
    pub fn least(&mut self) -> f64 {
        self.ends();
        self.corners.last().map_or(0.0, |corner| corner.point.error)
    }

    /// The error if as few vectors as possible are sent.
    #[must_use]
    pub fn error_with_fewest(&mut self) -> f64 {
        self.ends();
        self.corners.first().map_or(0.0, |corner| corner.point.error)
    }

    /// The least error with this number of sends.
    #[must_use]
    pub fn error_with(&mut self, sends: f64) -> f64 {
        let [few, many] = self.edge_to(|point| point.sends >= sends);
        if sends <= few.sends || many.sends <= few.sends {
            return few.error;
        }
        let share = ((sends - few.sends) / (many.sends - few.sends)).min(1.0);
        few.error + share * (many.error - few.error)
    }

    /// The fewest sends whose error is at most `error`. If that is unattainable, the sends of the least error.
    #[must_use]
    pub fn sends_for(&mut self, error: f64) -> f64 {
        let [few, many] = self.edge_to(|point| point.error <= error);
        if error >= few.error || few.error <= many.error {
            return few.sends;
        }
        let share = ((few.error - error) / (few.error - many.error)).min(1.0);
        few.sends + share * (many.sends - few.sends)
    }

    fn ends(&mut self) {
        if self.corners.is_empty() {
            let corner = |price| Corner { point: self.at_price(price), is_edge: false };
            self.corners = vec![corner(PRICE_MAX), corner(0.0)];
        }
    }

    /// The ends of the hull's edge up to the first corner for which `is_beyond` holds.
    fn edge_to(&mut self, is_beyond: impl Fn(&FrontierPoint) -> bool) -> [FrontierPoint; 2] {
        self.ends();
        loop {
            let beyond = self.corners.iter().position(|corner| is_beyond(&corner.point));
            let many = beyond.unwrap_or(self.corners.len() - 1).max(1);
            let (few, far) = (self.corners[many - 1], self.corners[many].point);
            let sends = far.sends - few.point.sends;
            if few.is_edge || beyond == Some(0) || sends < 1.0 {
                return [few.point, far];
            }
            // A point below the line between the two is found at a price equal to the line's slope.
            let price = (few.point.error - far.error) / sends;
            let found = self.at_price(price);
            let below = (few.point.error + price * few.point.sends) - (found.error + price * found.sends);
            let inside = found.sends > few.point.sends && found.sends < far.sends;
            if inside && below > 1e-9 * few.point.error {
                self.corners.insert(many, Corner { point: found, is_edge: false });
            } else {
                self.corners[many - 1].is_edge = true;
            }
        }
    }
}
