//! The schema of `pipeline_config`: what sentry-streams' own JSON schema asks for, as rules, so that each fault comes
//! with its path and one sentence. Whatever the schema does not name is open.

use serde_json::{Map, Value};

use super::Subject;
use crate::core::path::At;
use crate::core::violation::{FaultKind, Finding};

/// Rule: the config is as sentry-streams reads it.
pub(super) fn schema(subject: &Subject<'_>) -> Vec<Finding> {
    let config = &subject.spec.pipeline_config;
    let mut check = Check(Vec::new());
    let spec = At::Key(&At::Root, "spec");
    let at = At::Key(&spec, "pipeline_config");
    check.field(config, &at, "env", |check, value, at| {
        check.object(value, at);
    });
    check.field(config, &at, "metrics", Check::metrics);
    check.field(config, &at, "sentry_sdk_config", Check::sentry_sdk_config);
    check.required_field(config, &at, "pipeline", Check::pipeline);
    check.0
}

struct Check(Vec<Finding>);

impl Check {
    fn fault(&mut self, at: &At<'_>, kind: FaultKind, message: impl Into<String>) {
        self.0.push(Finding::of_value(at.path(), kind, message));
    }

    /// A field that may be absent.
    fn field(
        &mut self,
        object: &Map<String, Value>,
        at: &At<'_>,
        name: &str,
        check: impl FnOnce(&mut Self, &Value, &At<'_>),
    ) {
        if let Some(value) = object.get(name) {
            check(self, value, &At::Key(at, name));
        }
    }

    /// A field that must be there.
    fn required_field(
        &mut self,
        object: &Map<String, Value>,
        at: &At<'_>,
        name: &str,
        check: impl FnOnce(&mut Self, &Value, &At<'_>),
    ) {
        if object.contains_key(name) {
            self.field(object, at, name, check);
        } else {
            self.fault(&At::Key(at, name), FaultKind::Required, "must be set");
        }
    }

    fn object<'v>(&mut self, value: &'v Value, at: &At<'_>) -> Option<&'v Map<String, Value>> {
        let object = value.as_object();
        if object.is_none() {
            self.fault(at, FaultKind::TypeInvalid, "must be an object");
        }
        object
    }

    fn list<'v>(&mut self, value: &'v Value, at: &At<'_>) -> Option<&'v Vec<Value>> {
        let list = value.as_array();
        if list.is_none() {
            self.fault(at, FaultKind::TypeInvalid, "must be a list");
        }
        list
    }

    fn string(&mut self, value: &Value, at: &At<'_>) {
        if !value.is_string() {
            self.fault(at, FaultKind::TypeInvalid, "must be a string");
        }
    }

    fn boolean(&mut self, value: &Value, at: &At<'_>) {
        if !value.is_boolean() {
            self.fault(at, FaultKind::TypeInvalid, "must be true or false");
        }
    }

    /// A whole number; `2.0` is one too.
    fn integer(&mut self, value: &Value, at: &At<'_>, min: Option<u8>) {
        let number = value.as_f64().filter(|number| number.fract() == 0.0);
        let Some(number) = number else {
            self.fault(at, FaultKind::TypeInvalid, "must be an integer");
            return;
        };
        if let Some(min) = min
            && number < f64::from(min)
        {
            self.fault(at, FaultKind::Invalid, format!("must be at least {min}"));
        }
    }

    fn pipeline(&mut self, value: &Value, at: &At<'_>) {
        let Some(pipeline) = self.object(value, at) else {
            return;
        };
        self.required_field(pipeline, at, "segments", Self::segments);
        self.field(pipeline, at, "adapter_config", |check, value, at| {
            if let Some(adapter) = check.object(value, at) {
                check.field(adapter, at, "arroyo", Self::arroyo);
            }
        });
    }

    fn arroyo(&mut self, value: &Value, at: &At<'_>) {
        if let Some(arroyo) = self.object(value, at) {
            self.field(arroyo, at, "write_healthcheck", Self::boolean);
            self.field(arroyo, at, "sentry_sdk_config", Self::sentry_sdk_config);
        }
    }

    fn sentry_sdk_config(&mut self, value: &Value, at: &At<'_>) {
        if let Some(config) = self.object(value, at) {
            self.required_field(config, at, "dsn", Self::string);
        }
    }

    fn segments(&mut self, value: &Value, at: &At<'_>) {
        for (index, segment) in self.list(value, at).into_iter().flatten().enumerate() {
            let at = At::Index(at, index);
            if let Some(segment) = self.object(segment, &at) {
                self.field(segment, &at, "steps_config", Self::steps);
            }
        }
    }

    fn steps(&mut self, value: &Value, at: &At<'_>) {
        for (name, step) in self.object(value, at).into_iter().flatten() {
            let at = At::Key(at, name);
            if let Some(step) = self.object(step, &at) {
                self.field(step, &at, "dlq", Self::dead_letter_queue);
            }
        }
    }

    fn dead_letter_queue(&mut self, value: &Value, at: &At<'_>) {
        let Some(queue) = self.object(value, at) else {
            return;
        };
        self.required_field(queue, at, "bootstrap_servers", |check, value, at| {
            let servers = check.list(value, at);
            if servers.is_some_and(Vec::is_empty) {
                check.fault(at, FaultKind::Invalid, "must not be empty");
            }
            for (index, server) in servers.into_iter().flatten().enumerate() {
                check.string(server, &At::Index(at, index));
            }
        });
        self.field(queue, at, "topic", |check, value, at| {
            check.string(value, at);
            if value == "" {
                check.fault(at, FaultKind::Invalid, "must not be empty");
            }
        });
        self.field(queue, at, "override_params", |check, value, at| {
            for (name, value) in check.object(value, at).into_iter().flatten() {
                check.string(value, &At::Key(at, name));
            }
        });
    }

    fn metrics(&mut self, value: &Value, at: &At<'_>) {
        let Some(metrics) = self.object(value, at) else {
            return;
        };
        match metrics.get("type").map(Value::as_str) {
            Some(Some("datadog")) => {
                self.required_field(metrics, at, "host", Self::string);
                self.required_field(metrics, at, "port", |check, value, at| check.integer(value, at, None));
                self.field(metrics, at, "tags", Self::tags);
                self.field(metrics, at, "udp_queue_size", |check, value, at| {
                    check.integer(value, at, Some(0));
                });
                self.field(metrics, at, "flush_interval_ms", |check, value, at| {
                    check.integer(value, at, Some(1));
                });
            }
            Some(Some("log")) => {
                self.required_field(metrics, at, "period_sec", Self::period);
                self.required_field(metrics, at, "tags", Self::tags);
            }
            Some(Some("dummy")) => {}
            Some(Some(_)) => {
                let message = "must be one of datadog, log, dummy";
                self.fault(&At::Key(at, "type"), FaultKind::NotSupported, message);
            }
            Some(None) => self.fault(&At::Key(at, "type"), FaultKind::TypeInvalid, "must be a string"),
            None => self.fault(&At::Key(at, "type"), FaultKind::Required, "must be set"),
        }
    }

    fn tags(&mut self, value: &Value, at: &At<'_>) {
        self.object(value, at);
    }

    fn period(&mut self, value: &Value, at: &At<'_>) {
        const PERIOD_SECONDS_MIN: f64 = 0.1;
        match value.as_f64() {
            None => self.fault(at, FaultKind::TypeInvalid, "must be a number"),
            Some(period) if period < PERIOD_SECONDS_MIN => {
                self.fault(at, FaultKind::Invalid, "must be at least 0.1");
            }
            Some(_) => {}
        }
    }
}
