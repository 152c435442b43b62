//! Why a list or a watch ends early.

use std::time::Duration;

use thiserror::Error;

use crate::kubernetes::protobuf::{DecodeError, Status};

/// Why a list or a watch ended early. What was told stays true.
#[derive(Debug, Error)]
pub(in crate::kubernetes::watch) enum ListWatchError {
    /// The request could not be made.
    #[error("the API server cannot be asked for {path}: {reason}")]
    Request {
        /// Of the resource.
        path: String,
        /// From the connection.
        reason: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The API server did not answer in time.
    #[error("the API server does not answer for {path} within {limit:?}")]
    Silent {
        /// Of the resource.
        path: String,
        /// How long it had.
        limit: Duration,
    },
    /// The API server refuses.
    #[error("the API server refuses to tell {path}: {status}")]
    Refused {
        /// Of the resource.
        path: String,
        /// What it says.
        status: Status,
    },
    /// The answer is not what was asked for.
    #[error("the API server answers for {path} in {content_type:?} instead of protobuf")]
    ContentType {
        /// Of the resource.
        path: String,
        /// The header.
        content_type: String,
    },
    /// The answer cannot be read.
    #[error("the answer for {path} cannot be read: {reason}")]
    Unreadable {
        /// Of the resource.
        path: String,
        /// What is wrong with it.
        reason: DecodeError,
    },
    /// The watch ended at once.
    #[error("the watch of {path} ended at once without an event")]
    VeryShort {
        /// Of the resource.
        path: String,
    },
}
