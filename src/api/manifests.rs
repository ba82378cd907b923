//! The CustomResourceDefinitions of our kinds, as the types say. What `crds/` holds is printed from here.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::CustomResourceExt;

use super::StreamingPipeline;

/// The CRDs, each with the metadata it is installed with.
#[must_use]
pub fn crds() -> Vec<CustomResourceDefinition> {
    vec![without_status_defaults(StreamingPipeline::crd())]
}

/// Takes the defaults off the status: an API server would write them into a status that says something else on purpose
/// by leaving a field out.
fn without_status_defaults(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        let root = version
            .schema
            .as_mut()
            .and_then(|schema| schema.open_api_v3_schema.as_mut());
        let properties = root.and_then(|root| root.properties.as_mut());
        if let Some(status) = properties.and_then(|properties| properties.get_mut("status")) {
            remove_defaults(status);
        }
    }
    crd
}

fn remove_defaults(schema: &mut JSONSchemaProps) {
    schema.default = None;
    for property in schema
        .properties
        .iter_mut()
        .flat_map(|properties| properties.values_mut())
    {
        remove_defaults(property);
    }
    match &mut schema.items {
        Some(JSONSchemaPropsOrArray::Schema(items)) => remove_defaults(items),
        Some(JSONSchemaPropsOrArray::Schemas(all)) => all.iter_mut().for_each(remove_defaults),
        None => {}
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        remove_defaults(values);
    }
}
