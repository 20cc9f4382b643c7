//! True time: the one that nobody in a session can read.
//!
//! It lives here and not in the core so that no protocol can name it: a machine that learned the true time
//! would be measured by what no player has.

evenkeel_core::point_in_time! {
    /// The time of the world itself, counted from the beginning of the run. Only drivers and the lab know it.
    TrueTime
}
