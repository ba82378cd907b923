//! The CustomResourceDefinitions of our kinds, as the types say. What `crds/` holds is printed from here.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

use super::StreamingPipeline;

/// The CRDs, each with the metadata it is installed with.
#[must_use]
pub fn crds() -> Vec<CustomResourceDefinition> {
    vec![StreamingPipeline::crd()]
}
