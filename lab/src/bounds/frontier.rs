//! Sends against error: what a receiver, or all of them together, can have at best.

use evenkeel_core::{SessionTime, Span};

use super::path::{Costs, ExportedPath};

/// So many vectors sent, and the least error with them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FrontierPoint {
    /// How many vectors.
    pub sends: f64,
    /// Which error.
    pub error: f64,
}

/// At this price as few vectors as possible are sent.
const DEAR: f64 = 1e9;

/// The lower convex hull of sends and error, found corner by corner as it is asked for.
#[derive(Clone, Debug)]
pub struct Frontier {
    costs: Vec<Costs>,
    /// Corners that are known, by rising sends; at least both ends once one has been asked for.
    corners: Vec<Corner>,
}

#[derive(Clone, Copy, Debug)]
struct Corner {
    point: FrontierPoint,
    /// The way to the next known corner is an edge of the hull.
    edge: bool,
}

impl Frontier {
    /// Of one receiver.
    #[must_use]
    pub fn new(paths: &[ExportedPath], delay: Span, until: SessionTime) -> Self {
        let costs = paths.iter().map(|path| Costs::new(path, delay, until)).collect();
        Self { costs, corners: Vec::new() }
    }

    /// Of several receivers, whose errors are added up.
    #[must_use]
    pub fn together(receivers: Vec<Self>) -> Self {
        Self {
            costs: receivers.into_iter().flat_map(|receiver| receiver.costs).collect(),
            corners: Vec::new(),
        }
    }

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
        self.costs.iter().map(Costs::everything).sum()
    }

    /// The least error, however much is sent: now and then it is better not to be sent a vector.
    #[must_use]
    pub fn least(&mut self) -> f64 {
        self.ends();
        self.corners.last().map_or(0.0, |corner| corner.point.error)
    }

    /// The error if as few as possible are sent.
    #[must_use]
    pub fn unsent(&mut self) -> f64 {
        self.ends();
        self.corners.first().map_or(0.0, |corner| corner.point.error)
    }

    /// The least error with so many sends.
    #[must_use]
    pub fn error_with(&mut self, sends: f64) -> f64 {
        let [few, many] = self.edge(|point| point.sends >= sends);
        if sends <= few.sends || many.sends <= few.sends {
            return few.error;
        }
        let share = ((sends - few.sends) / (many.sends - few.sends)).min(1.0);
        few.error + share * (many.error - few.error)
    }

    /// The fewest sends with which the error is no larger. Below the floor there are none; then it is what the floor
    /// takes.
    #[must_use]
    pub fn sends_for(&mut self, error: f64) -> f64 {
        let [few, many] = self.edge(|point| point.error <= error);
        if error >= few.error || few.error <= many.error {
            return few.sends;
        }
        let share = ((few.error - error) / (few.error - many.error)).min(1.0);
        few.sends + share * (many.sends - few.sends)
    }

    fn ends(&mut self) {
        if self.corners.is_empty() {
            let corner = |price| Corner { point: self.at_price(price), edge: false };
            self.corners = vec![corner(DEAR), corner(0.0)];
        }
    }

    /// The ends of the hull's edge before the first corner that is beyond something.
    fn edge(&mut self, is_beyond: impl Fn(&FrontierPoint) -> bool) -> [FrontierPoint; 2] {
        self.ends();
        loop {
            let beyond = self.corners.iter().position(|corner| is_beyond(&corner.point));
            let many = beyond.unwrap_or(self.corners.len() - 1).max(1);
            let (few, far) = (self.corners[many - 1], self.corners[many].point);
            let sends = far.sends - few.point.sends;
            if few.edge || beyond == Some(0) || sends < 1.0 {
                return [few.point, far];
            }
            // Whatever is below the line between the two is found at the price that the line's slope is.
            let price = (few.point.error - far.error) / sends;
            let found = self.at_price(price);
            let below = (few.point.error + price * few.point.sends) - (found.error + price * found.sends);
            let inside = found.sends > few.point.sends && found.sends < far.sends;
            if inside && below > 1e-9 * few.point.error {
                self.corners.insert(many, Corner { point: found, edge: false });
            } else {
                self.corners[many - 1].edge = true;
            }
        }
    }
}
