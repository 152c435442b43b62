//! The Helm chart, rendered by the real helm: goldens, refusals, rights, documentation.

mod docs;
mod goldens;
mod helm;
mod image;
mod pods;
mod rbac;
mod refusals;
