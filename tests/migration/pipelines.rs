//! The pipelines that are moved.

use serde_json::{Value, json};

/// How many consumers a pipeline may and must have.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    pub(crate) name: String,
    /// What the names of its Pods begin with: those of Deployments, and ours.
    pub(crate) bases: Vec<String>,
    pub(crate) replicas: usize,
    /// Consumers that are not terminating at most.
    pub(crate) most: usize,
    /// Available consumers at least.
    pub(crate) fewest: usize,
}

/// A pipeline to be moved.
#[derive(Clone, Debug)]
pub(crate) struct Pipeline {
    pub(crate) name: String,
    replicas: usize,
    canary: bool,
    segment: usize,
    life: Option<&'static str>,
}

/// An image that cannot be pulled, in the lives of the tests.
pub(crate) const BAD_IMAGE: &str = "registry.example/consumer:bad";

impl Pipeline {
    pub(crate) fn new(name: &str, replicas: usize) -> Self {
        Self {
            name: name.to_owned(),
            replicas,
            canary: false,
            segment: 0,
            life: None,
        }
    }

    pub(crate) fn canary(self) -> Self {
        Self { canary: true, ..self }
    }

    /// Its Pods become ready a second after they have started, theirs and ours.
    pub(crate) fn slow(self) -> Self {
        Self {
            life: Some("slow-start"),
            ..self
        }
    }

    /// Its Pods take their whole grace, of two seconds, to end.
    pub(crate) fn graceful(self) -> Self {
        Self {
            life: Some("graceful"),
            ..self
        }
    }

    /// The other segment of the pipeline `name`; the object is called `name-1`.
    pub(crate) fn second_segment(self) -> Self {
        Self { segment: 1, ..self }
    }

    /// Name of the object.
    pub(crate) fn object(&self) -> String {
        match self.segment {
            0 => self.name.clone(),
            segment => format!("{}-{segment}", self.name),
        }
    }

    /// `service` keeps apart what shares one namespace for its Pods.
    pub(crate) fn manifest(&self, namespace: &str, service: &str) -> Value {
        let template = json!({
            "spec": {"template": {
                "metadata": {"annotations": self.life.map_or(json!({}), |life| json!({"testkit/life": life}))},
                "spec": {"terminationGracePeriodSeconds": 2},
            }},
        });
        let segment = |name: &str| {
            json!({"steps_config": {
                name: {"starts_segment": true, "bootstrap_servers": ["kafka:9092"]},
            }})
        };
        json!({
            "apiVersion": "streams.sentry.io/v1alpha1",
            "kind": "StreamingPipeline",
            "metadata": {"name": self.object(), "namespace": namespace},
            "spec": {
                "service_name": service, "pipeline_name": self.name, "pipeline_module": "pipeline.py",
                "image_name": "registry.example/consumer:1", "cpu_per_process": 10, "memory_per_process": 16,
                "replicas": self.replicas, "with_canary": self.canary, "segment_id": self.segment,
                "deployment_template": template, "container_template": {},
                "pipeline_config": {
                    "env": {},
                    "pipeline": {
                        "adapter_config": {"arroyo": {"write_healthcheck": true}},
                        "segments": [segment("first"), segment("second")],
                    },
                },
            },
        })
    }

    /// What must hold of it: `maxUnavailable` is 25%, rounded down, and one at least.
    pub(crate) fn bounds(&self, service: &str) -> Bounds {
        let base = format!("{service}-pipeline-{}-{}", self.name, self.segment);
        let (most, fewest) = match self.replicas {
            1 => (2, 1),
            replicas => (replicas, replicas - (replicas / 4).max(1)),
        };
        Bounds {
            name: self.object(),
            bases: vec![format!("{base}-canary-"), format!("{base}-")],
            replicas: self.replicas,
            most,
            fewest,
        }
    }
}

/// Ten pipelines: one to ten replicas, canaries, two segments of one pipeline, Pods that start or end slowly.
pub(crate) fn ten() -> Vec<Pipeline> {
    vec![
        Pipeline::new("p1", 1),
        Pipeline::new("p2", 2).canary(),
        Pipeline::new("p3", 3).slow(),
        Pipeline::new("p4", 4).canary().graceful(),
        Pipeline::new("p5", 5),
        Pipeline::new("p6", 6).canary().slow(),
        Pipeline::new("p7", 7),
        Pipeline::new("p8", 8),
        Pipeline::new("p8", 2).second_segment(),
        Pipeline::new("p10", 10).canary(),
    ]
}

/// Three: the only consumer, a canary, and one that moves in steps.
pub(crate) fn three() -> Vec<Pipeline> {
    vec![
        Pipeline::new("one", 1),
        Pipeline::new("two", 2).canary(),
        Pipeline::new("four", 4),
    ]
}
