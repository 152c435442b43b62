//! A line through points, by least squares.

/// `y = intercept + slope * x`
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Line {
    pub(crate) intercept: f64,
    pub(crate) slope: f64,
}

impl Line {
    /// By least squares. None unless there are two different x.
    pub(crate) fn fit(points: &[(f64, f64)]) -> Option<Self> {
        let count = points.len() as f64;
        let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
        let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / count;
        let spread: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
        let together: f64 = points
            .iter()
            .map(|(x, y)| (x - mean_x) * (y - mean_y))
            .sum();
        let slope = together / spread;
        (spread > 0.0).then_some(Self {
            intercept: mean_y - slope * mean_x,
            slope,
        })
    }

    /// The y that belongs to an x.
    pub(crate) fn at(self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }
}
