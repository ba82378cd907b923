//! What an error of the API server means for what was asked: one exhaustive match from its class to what is done.
//! Must never lose the API server's own words: people search for them.

use std::error::Error as _;
use std::time::Duration;

use kube::core::Status;

use crate::client::GateShut;
use crate::core::plan::ActionResult;
use crate::telemetry::labels::RetryClass;

/// What kind of error it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// 404 for the object.
    NotFound,
    /// 409: the name is taken.
    AlreadyExists,
    /// 409: someone else wrote, or a precondition does not hold.
    Conflict,
    /// 401, 403: a right is missing, a quota is used up, the namespace is being deleted.
    Forbidden,
    /// 400, 413, 422 and every other 4xx: the object is refused.
    Invalid,
    /// 429: asked too often.
    Throttled,
    /// 5xx.
    Server,
    /// No answer, or none that could be read: it may have been done or not.
    NoAnswer,
    /// Not sent: the lease may have been lost.
    NotSent,
}

/// What follows from an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Read again and decide again, at once.
    ReadAgain,
    /// It passes by itself: try again after a short back-off.
    Retry(RetryClass),
    /// Somebody has to change something: say so, and try again after a long back-off.
    Wait(RetryClass),
    /// Leave it: the next leader does it.
    GiveUp,
}

impl Class {
    /// Of an error of the client.
    #[must_use]
    pub fn of(error: &kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::of_status(status),
            kube::Error::Service(cause) => {
                let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(cause.as_ref());
                while let Some(error) = cause {
                    if error.is::<GateShut>() {
                        return Self::NotSent;
                    }
                    cause = error.source();
                }
                Self::NoAnswer
            }
            // What is left: the transport, or an answer that could not be read.
            _ => Self::NoAnswer,
        }
    }

    fn of_status(status: &Status) -> Self {
        match status.code {
            404 => Self::NotFound,
            409 if status.is_already_exists() => Self::AlreadyExists,
            409 => Self::Conflict,
            401 | 403 => Self::Forbidden,
            429 => Self::Throttled,
            400..=499 => Self::Invalid,
            _ => Self::Server,
        }
    }

    /// What follows from it.
    #[must_use]
    pub const fn next(self) -> Next {
        match self {
            Self::Conflict | Self::AlreadyExists => Next::ReadAgain,
            Self::Throttled => Next::Retry(RetryClass::Throttled),
            Self::Server => Next::Retry(RetryClass::Server),
            Self::NoAnswer => Next::Retry(RetryClass::Network),
            // Of a create: its namespace, or the kind itself, is not there.
            Self::NotFound | Self::Invalid => Next::Wait(RetryClass::Invalid),
            Self::Forbidden => Next::Wait(RetryClass::Forbidden),
            Self::NotSent => Next::GiveUp,
        }
    }

    /// Whether a write that ended so was certainly not done. A 5xx may come from a proxy in between, or from an API
    /// server that lost patience with its store.
    #[must_use]
    pub const fn was_not_done(self) -> bool {
        match self {
            Self::NotFound
            | Self::AlreadyExists
            | Self::Conflict
            | Self::Forbidden
            | Self::Invalid
            | Self::Throttled
            | Self::NotSent => true,
            Self::Server | Self::NoAnswer => false,
        }
    }
}

/// A request to the API server that failed: what was asked, and what came.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what}")]
pub struct Failure {
    /// What was asked, as in "create Pod ns/name".
    pub what: String,
    /// What came.
    #[source]
    pub error: kube::Error,
}

impl Failure {
    /// Of a request that was to do `what`.
    pub fn of(what: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let what = what.into();
        move |error| Self { what, error }
    }

    /// No answer came within `limit`.
    pub fn timed_out(what: impl Into<String>, limit: Duration) -> Self {
        let cause = std::io::Error::new(std::io::ErrorKind::TimedOut, format!("no answer within {limit:?}"));
        Self {
            what: what.into(),
            error: kube::Error::ReadEvents(cause),
        }
    }

    /// Its class.
    #[must_use]
    pub fn class(&self) -> Class {
        Class::of(&self.error)
    }

    /// As the result of an action.
    #[must_use]
    pub fn as_result(&self) -> ActionResult {
        match &self.error {
            kube::Error::Api(status) if !matches!(self.class(), Class::Server | Class::Throttled) => {
                ActionResult::Refused {
                    code: status.code,
                    reason: status.reason.clone(),
                    message: status.message.clone(),
                }
            }
            _ => ActionResult::Unavailable {
                message: self.in_words(),
            },
        }
    }

    /// The whole chain in one line.
    #[must_use]
    pub fn in_words(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            let words = match error.downcast_ref::<kube::Error>() {
                Some(kube::Error::Api(status)) => return format!("{text}: {}", status.message),
                _ => error.to_string(),
            };
            // Wrappers repeat what they wrap.
            if !text.ends_with(&words) {
                text.push_str(": ");
                text.push_str(&words);
            }
            cause = error.source();
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: u16, reason: &str) -> kube::Error {
        let status = Status {
            code,
            reason: reason.to_owned(),
            message: "no".to_owned(),
            ..Status::default()
        };
        kube::Error::Api(status.boxed())
    }

    #[test]
    fn what_follows_from_an_error_depends_on_its_class_alone() {
        for (error, next) in [
            (refused(404, "NotFound"), Next::Wait(RetryClass::Invalid)),
            (refused(409, "AlreadyExists"), Next::ReadAgain),
            (refused(409, "Conflict"), Next::ReadAgain),
            (refused(403, "Forbidden"), Next::Wait(RetryClass::Forbidden)),
            (refused(422, "Invalid"), Next::Wait(RetryClass::Invalid)),
            (refused(413, "RequestEntityTooLarge"), Next::Wait(RetryClass::Invalid)),
            (refused(429, "TooManyRequests"), Next::Retry(RetryClass::Throttled)),
            (refused(503, "ServiceUnavailable"), Next::Retry(RetryClass::Server)),
            (kube::Error::Service("reset".into()), Next::Retry(RetryClass::Network)),
            (kube::Error::Service(GateShut.into()), Next::GiveUp),
        ] {
            assert_eq!(Class::of(&error).next(), next, "{error}");
        }
    }

    #[test]
    fn only_a_clear_answer_says_that_a_write_was_not_done() {
        assert!(Class::of(&refused(422, "Invalid")).was_not_done());
        assert!(Class::of(&refused(429, "TooManyRequests")).was_not_done());
        assert!(!Class::of(&refused(504, "Timeout")).was_not_done());
        assert!(!Class::of(&kube::Error::Service("reset".into())).was_not_done());
        assert!(Class::of(&kube::Error::Service(GateShut.into())).was_not_done());
    }

    #[test]
    fn a_failure_says_what_was_asked_and_keeps_the_api_servers_words() {
        let failure = Failure::of("create Pod ns/p-0-1")(refused(422, "Invalid"));
        assert_eq!(failure.in_words(), "cannot create Pod ns/p-0-1: no");
        let failure = Failure::timed_out("create Pod ns/p-0-1", Duration::from_secs(30));
        assert_eq!(
            failure.in_words(),
            "cannot create Pod ns/p-0-1: Error reading events stream: no answer within 30s"
        );
    }
}
