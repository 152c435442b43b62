//! What an answer of the API server means for a write, and when to try again.

use std::time::Duration;

use kube::Error;
use tokio::time::timeout;

/// Tries of one write at most.
pub(super) const TRIES: u32 = 5;

/// The first pause; it doubles.
const PAUSE: Duration = Duration::from_millis(50);

/// What an error means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The object is not there.
    NotFound,
    /// The object is in another state than was thought.
    Conflict,
    /// Not carried out; try again, after this long if the server says so.
    Busy(Option<Duration>),
    /// It may or may not have been carried out.
    Unknown,
    /// It never will be.
    Refused,
}

/// Sends one write within `limit`; a failure comes with its meaning and its text.
pub(super) async fn send(
    limit: Duration,
    write: impl Future<Output = Result<(), Error>>,
) -> Result<(), (Meaning, String)> {
    match timeout(limit, write).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err((meaning(&error), error.to_string())),
        Err(_elapsed) => {
            let message = format!("the API server did not answer within {limit:?}");
            Err((Meaning::Unknown, message))
        }
    }
}

/// The meaning of `error` for a write.
fn meaning(error: &Error) -> Meaning {
    match error {
        Error::Api(status) => match status.code {
            404 => Meaning::NotFound,
            409 => Meaning::Conflict,
            429 => Meaning::Busy(retry_after(status)),
            500..=599 => Meaning::Unknown,
            _ => Meaning::Refused,
        },
        Error::BuildRequest(_) | Error::SerdeError(_) => Meaning::Refused,
        _ => Meaning::Unknown,
    }
}

fn retry_after(status: &kube::core::Status) -> Option<Duration> {
    let seconds = status
        .details
        .as_ref()
        .map_or(0, |details| details.retry_after_seconds);
    (seconds > 0).then(|| Duration::from_secs(seconds.into()))
}

/// The pause before try `number`, counted from 1.
pub(super) fn pause(number: u32, asked_for: Option<Duration>) -> Duration {
    asked_for.unwrap_or_else(|| PAUSE * 2_u32.saturating_pow(number.saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api(code: u16) -> Error {
        let status = kube::core::Status::failure("no", "reason").with_code(code);
        Error::Api(status.boxed())
    }

    #[test]
    fn codes_tell_what_became_of_a_write() {
        assert_eq!(meaning(&api(404)), Meaning::NotFound);
        assert_eq!(meaning(&api(409)), Meaning::Conflict);
        assert_eq!(meaning(&api(429)), Meaning::Busy(None));
        assert_eq!(meaning(&api(503)), Meaning::Unknown);
        assert_eq!(meaning(&api(504)), Meaning::Unknown);
        assert_eq!(meaning(&api(403)), Meaning::Refused);
        assert_eq!(meaning(&api(422)), Meaning::Refused);
    }

    #[test]
    fn pauses_double_unless_the_server_says_how_long() {
        assert_eq!(pause(1, None), PAUSE);
        assert_eq!(pause(3, None), 4 * PAUSE);
        assert_eq!(
            pause(3, Some(Duration::from_secs(2))),
            Duration::from_secs(2)
        );
    }
}
