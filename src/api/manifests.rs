//! The CustomResourceDefinitions of our kinds, as the types say. What `crds/` holds is printed from here.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSON, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::CustomResourceExt;

use super::{RolloutAnalysis, StreamingPipeline};

/// Whether the API server serves the kind of a CRD, as its status says.
#[must_use]
pub fn is_established(crd: &CustomResourceDefinition) -> bool {
    let conditions = crd.status.as_ref().and_then(|status| status.conditions.as_ref());
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition.type_ == "Established" && condition.status == "True")
}

/// The CRDs, each with the metadata it is installed with.
#[must_use]
pub fn crds() -> Vec<CustomResourceDefinition> {
    vec![tidied(StreamingPipeline::crd()), tidied(RolloutAnalysis::crd())]
}

/// The schema of the objects of a kind of ours; empty for any other.
#[must_use]
pub fn schema_of(kind: &str) -> JSONSchemaProps {
    let ours = crds().into_iter().find(|crd| crd.spec.names.kind == kind);
    let versions = ours.into_iter().flat_map(|crd| crd.spec.versions);
    let mut schemas = versions.filter_map(|version| version.schema?.open_api_v3_schema);
    schemas.next().unwrap_or_default()
}

fn tidied(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        let Some(root) = version
            .schema
            .as_mut()
            .and_then(|schema| schema.open_api_v3_schema.as_mut())
        else {
            continue;
        };
        visit(root, &mut unwrap_lines);
        visit(root, &mut without_null);
        // An API server would write defaults into a status that says something by leaving a field out.
        if let Some(status) = root
            .properties
            .as_mut()
            .and_then(|properties| properties.get_mut("status"))
        {
            visit(status, &mut |schema| schema.default = None);
            // Of a pipeline that nobody has looked at: who reads conditions as kstatus does (Helm, Flux, Argo CD) takes an
            // object without any for done, and one whose observedGeneration is another than its generation for under way.
            status.default = Some(JSON(serde_json::json!({ "observedGeneration": -1 })));
        }
    }
    crd
}

/// Joins the lines of a description's paragraphs: `kubectl explain` wraps them to the reader's width.
fn unwrap_lines(schema: &mut JSONSchemaProps) {
    if let Some(description) = &mut schema.description {
        let paragraphs = description.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
        *description = paragraphs.collect::<Vec<_>>().join("\n\n");
    }
}

/// The derive lets an optional number or text be `null`. No field of ours may: the API server then takes `null` for
/// absent and writes the default, while an object that keeps it could not be read.
fn without_null(schema: &mut JSONSchemaProps) {
    if schema.x_kubernetes_int_or_string == Some(true) {
        schema.nullable = None;
    }
}

/// Calls `change` with a schema and every one below it.
fn visit(schema: &mut JSONSchemaProps, change: &mut impl FnMut(&mut JSONSchemaProps)) {
    change(schema);
    for property in schema
        .properties
        .iter_mut()
        .flat_map(|properties| properties.values_mut())
    {
        visit(property, change);
    }
    match &mut schema.items {
        Some(JSONSchemaPropsOrArray::Schema(items)) => visit(items, change),
        Some(JSONSchemaPropsOrArray::Schemas(all)) => all.iter_mut().for_each(|items| visit(items, change)),
        None => {}
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        visit(values, change);
    }
}
