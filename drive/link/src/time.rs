//! True time, which no node can read.
//!
//! It is defined here and not in the core so that no protocol can name it. A protocol that knew the true time
//! would be measured with information that no player has.

evenkeel_core::point_in_time! {
    /// The time of the world, counted from the start of the run. Only drivers and the lab know it.
    TrueTime
}
