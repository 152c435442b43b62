//! `--kube-api-qps` and `--kube-api-burst`: a limit on the requests of one client.
//!
//! There is none by default: the API server's priority and fairness knows better who must wait.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use http::Request;
use kube::Client;
use kube::client::Body;
use tower::service_fn;

use crate::options::RateLimit;

/// A client that sends through `inner`, `limit.qps` times a second.
pub(crate) fn limited(inner: Client, limit: Option<RateLimit>) -> Client {
    let Some(quota) = limit.and_then(quota) else {
        return inner;
    };
    let limiter: Arc<DefaultDirectRateLimiter> = Arc::new(RateLimiter::direct(quota));
    let namespace = inner.default_namespace().to_owned();
    let service = service_fn(move |request: Request<Body>| {
        let (limiter, inner) = (Arc::clone(&limiter), inner.clone());
        async move {
            limiter.until_ready().await;
            inner.send(request).await
        }
    });
    Client::new(service, namespace)
}

fn quota(limit: RateLimit) -> Option<Quota> {
    let period = Duration::try_from_secs_f64(1.0 / limit.qps).ok()?;
    Some(Quota::with_period(period)?.allow_burst(NonZeroU32::new(limit.burst)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_half_a_request_a_second_is_one_every_two_seconds() {
        let quota = quota(RateLimit { qps: 0.5, burst: 3 }).unwrap();
        assert_eq!(quota.replenish_interval(), Duration::from_secs(2));
        assert_eq!(quota.burst_size().get(), 3);
        assert!(super::quota(RateLimit { qps: 1.0, burst: 0 }).is_none());
    }
}
