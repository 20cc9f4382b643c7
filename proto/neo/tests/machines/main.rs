//! NEO's machines, driven by hand: their contract, hostile bytes, and what the baselines do.

mod baselines;
mod contract;
