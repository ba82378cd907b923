//! Asks the API server what [`super::access`] wants to know, within a time limit, and remembers answers for a moment.
//!
//! Every replica serves admission, so this must be given a client that is not gated by the lease; what it creates is a
//! question, of which nothing is stored. Must never take silence for a yes, and never keep an answer that was none.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::authorization::v1::{SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::{Api, Client};
use sha2::{Digest, Sha256};
use tokio::time::{Instant, timeout};

use super::access::{self, Access, Guarded, Question};
use super::review::{Answer, Request};
use crate::client::in_words;

/// Most answers that are remembered. Each is 100 bytes; more users than this do not write pipelines within seconds.
const REMEMBERED_MAX: usize = 1024;

/// How long an [`Authorizer`] waits and remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// How long the API server may take to answer.
    pub answer: Duration,
    /// For how long an answer counts.
    pub remembered: Duration,
}

impl Default for Times {
    /// An answer comes within milliseconds; what 2 s leave of the webhook's own deadline (4 s) is for judging, and for
    /// telling why it took so long. With 3 s `kubectl apply -f` of a folder is one question, and a right that is given or
    /// taken counts before anybody wonders.
    fn default() -> Self {
        Self {
            answer: Duration::from_secs(2),
            remembered: Duration::from_secs(3),
        }
    }
}

/// Says whether users may do what the operator does for them.
pub struct Authorizer {
    client: Client,
    guarded: Guarded,
    times: Times,
    memory: Mutex<Memory>,
}

impl Authorizer {
    /// Asks with `client`, about the rights that are guarded.
    #[must_use]
    pub fn new(client: Client, guarded: Guarded, times: Times) -> Self {
        Self {
            client,
            guarded,
            times,
            memory: Mutex::new(Memory {
                lifetime: times.remembered,
                answers: HashMap::new(),
            }),
        }
    }

    /// Why `request` may not be admitted; `None`: nothing is against it, or nothing had to be asked.
    pub async fn objection(&self, request: &Request) -> Option<Answer> {
        let Question { review, right } = access::question(request, &self.guarded)?;
        match self.ask(review).await {
            Ok(Access::Granted) => None,
            Ok(Access::Denied(said)) => Some(access::denial(request, &right, &said)),
            Err(why) => Some(access::unanswered(request, &right, &why)),
        }
    }

    async fn ask(&self, question: SubjectAccessReviewSpec) -> Result<Access, String> {
        let key = key(&question)?;
        if let Some(known) = self.memory(|memory| memory.get(&key, Instant::now())) {
            return Ok(known);
        }
        let review = SubjectAccessReview {
            spec: question,
            ..SubjectAccessReview::default()
        };
        let api = Api::<SubjectAccessReview>::all(self.client.clone());
        let params = PostParams::default();
        let answer = match timeout(self.times.answer, api.create(&params, &review)).await {
            Err(_) => return Err(format!("no answer within {:?}", self.times.answer)),
            Ok(Err(error)) => return Err(in_words(&error)),
            Ok(Ok(answer)) => answer.status.ok_or("the answer has no status")?,
        };
        let access = Access::from(answer);
        self.memory(|memory| memory.put(key, access.clone(), Instant::now()));
        Ok(access)
    }

    fn memory<T>(&self, use_it: impl FnOnce(&mut Memory) -> T) -> T {
        // Each use is one look or one insert, so a panic elsewhere leaves a whole map behind.
        use_it(&mut self.memory.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A question in a fixed number of bytes: groups and extras may be of any length.
type Key = [u8; 32];

fn key(question: &SubjectAccessReviewSpec) -> Result<Key, String> {
    let text = serde_json::to_vec(question).map_err(|error| error.to_string())?;
    Ok(Sha256::digest(text).into())
}

/// Answers of the last seconds.
struct Memory {
    lifetime: Duration,
    answers: HashMap<Key, (Access, Instant)>,
}

impl Memory {
    fn get(&self, key: &Key, now: Instant) -> Option<Access> {
        let (access, came) = self.answers.get(key)?;
        (now.saturating_duration_since(*came) < self.lifetime).then(|| access.clone())
    }

    fn put(&mut self, key: Key, access: Access, now: Instant) {
        if self.answers.len() >= REMEMBERED_MAX {
            let lifetime = self.lifetime;
            self.answers
                .retain(|_, (_, came)| now.saturating_duration_since(*came) < lifetime);
        }
        if self.answers.len() >= REMEMBERED_MAX {
            // So many users at once are no ordinary day; asking again is all that it costs.
            self.answers.clear();
        }
        self.answers.insert(key, (access, now));
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::authorization::v1::ResourceAttributes;

    use super::*;

    fn memory() -> Memory {
        Memory {
            lifetime: Duration::from_secs(3),
            answers: HashMap::new(),
        }
    }

    #[test]
    fn an_answer_counts_for_three_seconds_whatever_it_is() {
        let (mut memory, now) = (memory(), Instant::now());
        let denied = Access::Denied("no".to_owned());
        memory.put([1; 32], Access::Granted, now);
        memory.put([2; 32], denied.clone(), now);
        let later = |millis| now + Duration::from_millis(millis);
        assert_eq!(memory.get(&[1; 32], later(2_999)), Some(Access::Granted));
        assert_eq!(memory.get(&[2; 32], later(2_999)), Some(denied));
        assert_eq!(memory.get(&[1; 32], later(3_000)), None);
        assert_eq!(memory.get(&[3; 32], now), None);
    }

    #[test]
    fn no_more_than_1024_answers_are_remembered_and_old_ones_go_first() {
        let (mut memory, start) = (memory(), Instant::now());
        let key = |number: u16| {
            let mut key = [0; 32];
            key[..2].copy_from_slice(&number.to_be_bytes());
            key
        };
        let later = start + Duration::from_secs(3);
        for number in 0..1023 {
            memory.put(key(number), Access::Granted, start);
        }
        memory.put(key(1023), Access::Granted, later);
        memory.put(key(1024), Access::Granted, later);
        assert_eq!(memory.answers.len(), 2, "what no longer counts has made room");
        for number in 0..5000 {
            memory.put(key(number), Access::Granted, later);
            assert!(memory.answers.len() <= 1024);
        }
        assert_eq!(memory.get(&key(4999), later), Some(Access::Granted));
    }

    #[test]
    fn every_part_of_the_question_tells_it_from_others() {
        let question = || SubjectAccessReviewSpec {
            user: Some("jane".to_owned()),
            groups: Some(vec!["a".to_owned()]),
            resource_attributes: Some(ResourceAttributes {
                namespace: Some("work".to_owned()),
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        };
        let changes: [fn(&mut SubjectAccessReviewSpec); 5] = [
            |q| q.user = Some("john".to_owned()),
            |q| q.uid = Some("u".to_owned()),
            |q| q.groups = Some(vec!["a".to_owned(), "b".to_owned()]),
            |q| q.extra = Some([("scopes".to_owned(), vec!["x".to_owned()])].into()),
            |q| q.resource_attributes = None,
        ];
        let first = key(&question()).expect("a key");
        assert_eq!(key(&question()).expect("a key"), first);
        for change in changes {
            let mut other = question();
            change(&mut other);
            assert_ne!(key(&other).expect("a key"), first, "{other:?}");
        }
    }
}
