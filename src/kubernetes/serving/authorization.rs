//! Who may read what: `TokenReview`, then `SubjectAccessReview`, both kept for a short while.
//! Nobody gets in while the API server cannot be asked.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};
use parking_lot::Mutex;
use tokio::time::{Instant, timeout};

use crate::kubernetes::clock::Clock;

/// Answers are kept this long (`DelegatingAuthorizationOptions`: 10 s).
const KEPT: Duration = Duration::from_secs(10);
/// Answers that are kept at most.
const KEPT_MAX: usize = 256;
/// For each question.
const LIMIT: Duration = Duration::from_secs(5);

/// By token and path: when it was asked, and what the answer was.
type Answers = BTreeMap<(String, String), (Instant, Result<bool, Denied>)>;

/// Asks the API server and remembers.
pub struct Authorizer {
    client: Client,
    clock: Clock,
    answers: Mutex<Answers>,
}

/// Why the question has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    /// The token is not valid.
    Unauthenticated,
    /// The API server could not be asked.
    Unavailable,
}

impl Authorizer {
    /// Asks through `client`.
    pub fn new(client: Client, clock: Clock) -> Self {
        Self {
            client,
            clock,
            answers: Mutex::default(),
        }
    }

    /// Whether the owner of `token` may GET `path`.
    pub async fn may_get(&self, token: &str, path: &str) -> Result<bool, Denied> {
        let key = (token.to_owned(), path.to_owned());
        let now = self.clock.now();
        if let Some((at, answer)) = self.answers.lock().get(&key)
            && now.duration_since(*at) < KEPT
        {
            return *answer;
        }
        let answer = self.ask(token, path).await;
        if answer != Err(Denied::Unavailable) {
            let mut answers = self.answers.lock();
            answers.retain(|_, (at, _)| now.duration_since(*at) < KEPT);
            if answers.len() < KEPT_MAX {
                answers.insert(key, (now, answer));
            }
        }
        answer
    }

    async fn ask(&self, token: &str, path: &str) -> Result<bool, Denied> {
        let review = TokenReview {
            spec: TokenReviewSpec {
                token: token.to_owned(),
                audiences: None,
            },
            ..TokenReview::default()
        };
        let tokens: Api<TokenReview> = Api::all(self.client.clone());
        let status = match timeout(LIMIT, tokens.create(&PostParams::default(), &review)).await {
            Ok(Ok(review)) => review.status.unwrap_or_default(),
            Ok(Err(_)) | Err(_) => return Err(Denied::Unavailable),
        };
        if status.authenticated != Some(true) {
            return Err(Denied::Unauthenticated);
        }
        self.is_allowed(status.user.unwrap_or_default(), path).await
    }

    async fn is_allowed(&self, user: UserInfo, path: &str) -> Result<bool, Denied> {
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: user.username,
                groups: user.groups,
                uid: user.uid,
                extra: user.extra,
                non_resource_attributes: Some(NonResourceAttributes {
                    path: Some(path.to_owned()),
                    verb: Some("get".to_owned()),
                }),
                resource_attributes: None,
            },
            ..SubjectAccessReview::default()
        };
        let reviews: Api<SubjectAccessReview> = Api::all(self.client.clone());
        match timeout(LIMIT, reviews.create(&PostParams::default(), &review)).await {
            Ok(Ok(review)) => Ok(review.status.is_some_and(|status| status.allowed)),
            Ok(Err(_)) | Err(_) => Err(Denied::Unavailable),
        }
    }
}

impl std::fmt::Debug for Authorizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authorizer").finish_non_exhaustive()
    }
}
