//! A RolloutAnalysis as it lies in the API server, read so that one bad object never disturbs the others, as in
//! [`super::stored`]. Must never fail on anything that the API server can hand out.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::analysis_status::RolloutAnalysisStatus;
use super::as_resource::as_resource;
use super::rollout_analysis::{RolloutAnalysis, RolloutAnalysisSpec};
use super::stored::{DecodeFault, Metadata, fault_of_spec};

/// A RolloutAnalysis as stored.
#[derive(Clone, Debug)]
pub struct StoredAnalysis {
    /// Its metadata, without managedFields.
    pub metadata: ObjectMeta,
    /// Its spec, or why it cannot be read.
    pub spec: Arc<Result<RolloutAnalysisSpec, DecodeFault>>,
    /// Its status; empty when it cannot be read.
    pub status: RolloutAnalysisStatus,
}

impl<'de> Deserialize<'de> for StoredAnalysis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Raw {
            #[serde(default)]
            metadata: Metadata,
            spec: Option<Box<RawValue>>,
            status: Option<Box<RawValue>>,
        }
        let raw = Raw::deserialize(deserializer)?;
        let status = raw.status.and_then(|text| serde_json::from_str(text.get()).ok());
        Ok(Self {
            metadata: raw.metadata.into(),
            spec: Arc::new(spec(raw.spec.as_deref().map_or("null", RawValue::get))),
            status: status.unwrap_or_default(),
        })
    }
}

fn spec(text: &str) -> Result<RolloutAnalysisSpec, DecodeFault> {
    let mut reader = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut reader).map_err(fault_of_spec)
}

as_resource!(StoredAnalysis, RolloutAnalysis);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_that_cannot_be_read_is_a_fault_of_its_object_with_its_path() {
        let text = r#"{"metadata":{"name":"a","uid":"u","managedFields":[{}]},"spec":{"target":{"kind":"Deployment","name":"d"},
            "metrics":[{"name":"m","query":7}]},"status":{"verdict":"Unheard"}}"#;
        let stored: StoredAnalysis = serde_json::from_str(text).expect("anything can be read");
        assert_eq!(stored.metadata.name.as_deref(), Some("a"));
        let fault = stored.spec.as_ref().as_ref().expect_err("a number is no query");
        assert_eq!(fault.path, "spec.metrics[0].query");
        assert_eq!(stored.status, RolloutAnalysisStatus::default());
    }
}
