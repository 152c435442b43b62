//! One request: what its answer means, and when to try again.

use std::time::Duration;

use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{HeaderMap, Request, StatusCode};
use kube::Client;
use kube::client::Body;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::kubernetes::protobuf::{self, Status};

/// Tries of one write at most.
pub(in crate::kubernetes) const TRIES: u32 = 5;

/// The first pause; it doubles.
const PAUSE: Duration = Duration::from_millis(50);

/// The longest wait that is granted: the API server's priority and fairness never asks for more
/// (`maxRetryAfter`).
const PAUSE_MAX: Duration = Duration::from_secs(32);

/// A request that did not succeed.
#[derive(Debug)]
pub(in crate::kubernetes) struct Failure {
    pub(in crate::kubernetes) meaning: Meaning,
    /// How long the server wants to be left alone.
    pub(in crate::kubernetes) retry_after: Option<Duration>,
    /// The server's own words, if it had any.
    pub(in crate::kubernetes) message: String,
}

/// What became of a request that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::kubernetes) enum Meaning {
    /// The object is not there.
    NotFound,
    /// The object is in another state than was thought.
    Conflict,
    /// Not carried out; try again.
    Busy,
    /// It may or may not have been carried out.
    Unknown,
    /// It never will be.
    Refused,
}

/// Sends one request within `limit`. Gives the body of a successful answer, which nobody has read:
/// a write is done even if its answer makes no sense.
pub(in crate::kubernetes) async fn send(
    client: &Client,
    limit: Duration,
    request: Result<Request<Vec<u8>>, kube::core::request::Error>,
) -> Result<Bytes, Failure> {
    let request = request.map_err(|error| Failure {
        meaning: Meaning::Refused,
        retry_after: None,
        message: error.to_string(),
    })?;
    match timeout(limit, exchange(client, request)).await {
        Ok(answer) => answer,
        Err(_elapsed) => Err(Failure::unknown(format!(
            "the API server did not answer within {limit:?}"
        ))),
    }
}

/// Past kube's own reading of errors, which drops the header `Retry-After`: where the API server
/// limits requests, it says how long in that header alone.
async fn exchange(client: &Client, request: Request<Vec<u8>>) -> Result<Bytes, Failure> {
    let sent = client.send(request.map(Body::from)).await;
    let (head, body) = sent
        .map_err(|error| Failure::unknown(error.to_string()))?
        .into_parts();
    let body = body.collect_bytes().await;
    let body = body.map_err(|error| Failure::unknown(error.to_string()))?;
    if head.status.is_success() {
        return Ok(body);
    }
    Err(Failure::answered(head.status, &head.headers, &body))
}

/// The pause after try `number`, counted from 1.
pub(in crate::kubernetes) fn pause(number: u32, asked_for: Option<Duration>) -> Duration {
    let doubled = PAUSE.saturating_mul(2_u32.saturating_pow(number.saturating_sub(1)));
    asked_for.unwrap_or(doubled).min(PAUSE_MAX)
}

/// Waits until try `number` + 1 of a write may begin. `false` if there is none: the tries are used
/// up, or `stop` came.
pub(in crate::kubernetes) async fn next_try(
    number: u32,
    asked_for: Option<Duration>,
    stop: &CancellationToken,
) -> bool {
    number < TRIES && rest(pause(number, asked_for), stop).await
}

/// Waits; `false` if `stop` came first.
pub(in crate::kubernetes) async fn rest(pause: Duration, stop: &CancellationToken) -> bool {
    stop.run_until_cancelled(sleep(pause)).await.is_some()
}

// === impl Failure ===

impl Failure {
    fn unknown(message: String) -> Self {
        Self {
            meaning: Meaning::Unknown,
            retry_after: None,
            message,
        }
    }

    fn answered(code: StatusCode, headers: &HeaderMap, body: &[u8]) -> Self {
        // What stands between may leave out the kind.
        let status = protobuf::status(body).or_else(|| serde_json::from_slice(body).ok());
        let text = match &status {
            Some(status) => status.message.clone(),
            None if body.contains(&0) => String::new(),
            None => String::from_utf8_lossy(body).trim().to_owned(),
        };
        let message = if text.is_empty() {
            format!("the API server answered {code}")
        } else {
            text
        };
        Self {
            meaning: Meaning::of(code),
            retry_after: retry_after(headers, status.as_ref()),
            message,
        }
    }
}

// === impl Meaning ===

impl Meaning {
    fn of(code: StatusCode) -> Self {
        match code.as_u16() {
            404 => Self::NotFound,
            409 => Self::Conflict,
            429 => Self::Busy,
            500..=599 => Self::Unknown,
            _ => Self::Refused,
        }
    }
}

/// From the header, as client-go, else from the status.
fn retry_after(headers: &HeaderMap, status: Option<&Status>) -> Option<Duration> {
    let header = headers
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok());
    let seconds = match header.and_then(|text| text.parse().ok()) {
        Some(seconds) => seconds,
        None => u64::try_from(status?.details.as_ref()?.retry_after_seconds).unwrap_or(0),
    };
    (seconds > 0).then(|| Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_tell_what_became_of_a_write() {
        for (code, meaning) in [
            (404, Meaning::NotFound),
            (409, Meaning::Conflict),
            (429, Meaning::Busy),
            (503, Meaning::Unknown),
            (504, Meaning::Unknown),
            (403, Meaning::Refused),
            (422, Meaning::Refused),
        ] {
            let code = StatusCode::from_u16(code).unwrap();
            assert_eq!(Meaning::of(code), meaning, "{code}");
        }
    }

    #[test]
    fn the_message_is_what_a_person_can_read_of_the_answer() {
        let message =
            |body: &[u8]| Failure::answered(StatusCode::FORBIDDEN, &HeaderMap::new(), body).message;
        assert_eq!(message(br#"{"kind":"Status","message":"no"}"#), "no");
        assert_eq!(message(br#"{"message":"no kind"}"#), "no kind");
        assert_eq!(message(b" plain text\n"), "plain text");
        for body in [&b""[..], b"{}", b"k8s\0\xff\xff"] {
            assert_eq!(message(body), "the API server answered 403 Forbidden");
        }
    }

    #[test]
    fn pauses_double_unless_the_server_says_how_long() {
        assert_eq!(pause(1, None), PAUSE);
        assert_eq!(pause(3, None), 4 * PAUSE);
        let asked = Duration::from_secs(2);
        assert_eq!(pause(3, Some(asked)), asked);
    }

    #[test]
    fn no_pause_is_longer_than_the_limit() {
        assert_eq!(pause(u32::MAX, None), PAUSE_MAX);
        assert_eq!(pause(1, Some(Duration::from_hours(1))), PAUSE_MAX);
    }
}
