//! HTTP extenders: asks them what the engine wants to know, in upstream's wire format
//! (`HTTPExtender`). Every call has a time limit and every answer an upper bound; nothing here
//! keeps the loop waiting.

mod body;
mod go_json;
mod http_client;
mod whole_objects;
mod wire;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use kube::Client;
use parking_lot::Mutex;

use crate::apis::extender::Extender;
use crate::engine::effect::Effect;
use crate::engine::framework::extender::{Answer, Candidates, Question, Subject};
use crate::kubernetes::extender::body::Chunks;
use crate::kubernetes::extender::http_client::HttpClient;
use crate::kubernetes::extender::whole_objects::WholeObjects;
use crate::model::pod_info::{PodKey, PodUid};

/// The connections to each extender that a profile has.
type Clients = Vec<(Weak<Extender>, HttpClient)>;

/// Everything that asks extenders. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Extenders {
    clients: Arc<Mutex<Clients>>,
    objects: WholeObjects,
}

impl Extenders {
    /// Asks extenders. `client` reads the objects that they are sent.
    pub fn new(client: Client) -> Self {
        Self {
            clients: Arc::default(),
            objects: WholeObjects::new(client),
        }
    }

    /// Asks `question` about the pod of `effect`.
    pub(super) async fn ask(&self, effect: &Effect, question: &Question) -> Answer {
        let answer = match &question.subject {
            Subject::Filter { nodes, .. } => self.filter(effect, question, nodes).await,
            Subject::Prioritize { nodes } => self.prioritize(effect, question, nodes).await,
            Subject::Preempt { candidates, names } => {
                self.preempt(effect, question, candidates, names).await
            }
        };
        answer.unwrap_or_else(Answer::Failed)
    }

    async fn filter(
        &self,
        effect: &Effect,
        question: &Question,
        nodes: &[Arc<str>],
    ) -> Result<Answer, String> {
        let extender = &question.extender;
        let arguments = self.arguments(effect, question, nodes).await?;
        let answer = self.put(question, &extender.filter_verb, arguments).await?;
        let filtered = wire::filtered(&answer, extender.node_cache_capable)?;
        Ok(Answer::Filtered(filtered))
    }

    async fn prioritize(
        &self,
        effect: &Effect,
        question: &Question,
        nodes: &[Arc<str>],
    ) -> Result<Answer, String> {
        let verb = &question.extender.prioritize_verb;
        let arguments = self.arguments(effect, question, nodes).await?;
        let answer = self.put(question, verb, arguments).await?;
        wire::scores(&answer).map(Answer::Prioritized)
    }

    async fn preempt(
        &self,
        effect: &Effect,
        question: &Question,
        candidates: &Candidates,
        names: &BTreeMap<PodUid, PodKey>,
    ) -> Result<Answer, String> {
        let extender = &question.extender;
        let pod = self.objects.pod(effect, question.attempt).await?;
        let arguments = if extender.node_cache_capable {
            wire::about_victims(pod, candidates)
        } else {
            let victims = self.objects.pods(names).await?;
            wire::about_whole_victims(pod, candidates, &victims)
        };
        let verb = &extender.preempt_verb;
        let answer = self.put(question, verb, arguments).await?;
        wire::candidates(&answer).map(Answer::Preempted)
    }

    /// Has the extender bind the pod of `effect`, within `limit`. The error is what upstream says;
    /// whether the pod was bound all the same, only the pod can tell.
    pub(super) async fn bind(
        &self,
        effect: &Effect,
        extender: &Arc<Extender>,
        node: &str,
        limit: Duration,
    ) -> Result<(), String> {
        let arguments = wire::binding(effect, node);
        let limit = extender.timeout().min(limit);
        let answer = self
            .call(extender, &extender.bind_verb, arguments, limit)
            .await?;
        wire::bound(&answer)
    }

    /// `ExtenderArgs`.
    async fn arguments(
        &self,
        effect: &Effect,
        question: &Question,
        nodes: &[Arc<str>],
    ) -> Result<Chunks, String> {
        let pod = self.objects.pod(effect, question.attempt).await?;
        if question.extender.node_cache_capable {
            return Ok(wire::about_names(pod, nodes));
        }
        Ok(wire::about_nodes(pod, self.objects.nodes(nodes).await?))
    }

    /// Puts a question, within the extender's own time limit.
    async fn put(
        &self,
        question: &Question,
        verb: &str,
        arguments: Chunks,
    ) -> Result<Bytes, String> {
        let extender = &question.extender;
        let limit = extender.timeout();
        self.call(extender, verb, arguments, limit).await
    }

    async fn call(
        &self,
        extender: &Arc<Extender>,
        verb: &str,
        arguments: Chunks,
        limit: Duration,
    ) -> Result<Bytes, String> {
        let client = self.client(extender)?;
        client
            .post(&extender.url(verb), verb, arguments, limit)
            .await
    }

    /// The connections to an extender live as long as its profile's generation.
    fn client(&self, extender: &Arc<Extender>) -> Result<HttpClient, String> {
        let mut clients = self.clients.lock();
        clients.retain(|(known, _)| known.strong_count() > 0);
        let known = clients
            .iter()
            .find(|(known, _)| std::ptr::eq(known.as_ptr(), Arc::as_ptr(extender)));
        if let Some((_, client)) = known {
            return Ok(client.clone());
        }
        let client = HttpClient::try_new(extender)?;
        clients.push((Arc::downgrade(extender), client.clone()));
        Ok(client)
    }
}
