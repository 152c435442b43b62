//! Bayplan.
