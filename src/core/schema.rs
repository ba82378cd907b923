//! What a stored CRD lacks of another one: fields that an API server would drop. Must never judge what is not lost by it
//! (descriptions, limits, columns).

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion, JSONSchemaProps, JSONSchemaPropsOrArray,
    JSONSchemaPropsOrBool,
};

/// The paths of what `wanted` has and `stored` has not, such as `spec.rollout`, `spec.list[].name`, `subresource scale` or
/// `version v2`; of a missing object only the object itself. In the order of the versions and of the names.
///
/// A field is not missing where the stored schema keeps what it does not know (`x-kubernetes-preserve-unknown-fields`, or
/// `additionalProperties`): nothing is dropped there.
#[must_use]
pub fn missing_fields(stored: &CustomResourceDefinition, wanted: &CustomResourceDefinition) -> Vec<String> {
    let mut missing = Vec::new();
    for version in &wanted.spec.versions {
        let served = stored.spec.versions.iter().filter(|stored| stored.served);
        match served.into_iter().find(|stored| stored.name == version.name) {
            None => missing.push(format!("version {}", version.name)),
            Some(stored) => compare_versions(stored, version, &mut missing),
        }
    }
    missing
}

fn compare_versions(
    stored: &CustomResourceDefinitionVersion,
    wanted: &CustomResourceDefinitionVersion,
    missing: &mut Vec<String>,
) {
    let has = |version: &CustomResourceDefinitionVersion| {
        let subresources = version.subresources.as_ref();
        let status = subresources.is_some_and(|subresources| subresources.status.is_some());
        let scale = subresources.is_some_and(|subresources| subresources.scale.is_some());
        [("subresource status", status), ("subresource scale", scale)]
    };
    for ((name, wanted), (_, stored)) in has(wanted).into_iter().zip(has(stored)) {
        if wanted && !stored {
            missing.push(name.to_owned());
        }
    }
    if let (Some(stored), Some(wanted)) = (root(stored), root(wanted)) {
        compare(stored, wanted, "", missing);
    }
}

fn root(version: &CustomResourceDefinitionVersion) -> Option<&JSONSchemaProps> {
    version.schema.as_ref()?.open_api_v3_schema.as_ref()
}

fn compare(stored: &JSONSchemaProps, wanted: &JSONSchemaProps, path: &str, missing: &mut Vec<String>) {
    let keeps_all = stored.x_kubernetes_preserve_unknown_fields == Some(true) || stored.additional_properties.is_some();
    for (name, field) in wanted.properties.iter().flatten() {
        let path = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        match stored.properties.as_ref().and_then(|properties| properties.get(name)) {
            Some(stored) => compare(stored, field, &path, missing),
            None if keeps_all => {}
            None => missing.push(path),
        }
    }
    let items = |schema: &JSONSchemaProps| match schema.items.clone() {
        Some(JSONSchemaPropsOrArray::Schema(items)) => Some(items),
        Some(JSONSchemaPropsOrArray::Schemas(_)) | None => None,
    };
    if let (Some(stored), Some(wanted)) = (items(stored), items(wanted)) {
        compare(&stored, &wanted, &format!("{path}[]"), missing);
    }
    let values = |schema: &JSONSchemaProps| match schema.additional_properties.clone() {
        Some(JSONSchemaPropsOrBool::Schema(values)) => Some(values),
        Some(JSONSchemaPropsOrBool::Bool(_)) | None => None,
    };
    if let (Some(stored), Some(wanted)) = (values(stored), values(wanted)) {
        compare(&stored, &wanted, &format!("{path}.*"), missing);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::api::manifests::crds;

    /// Changes the schema at a path of the first CRD.
    fn changed(path: &[&str], change: impl FnOnce(&mut JSONSchemaProps)) -> Vec<String> {
        let wanted = crds().remove(0);
        let mut stored = wanted.clone();
        let schema = stored.spec.versions[0].schema.as_mut().expect("a schema");
        let mut at = schema.open_api_v3_schema.as_mut().expect("a schema");
        for name in path {
            at = at
                .properties
                .as_mut()
                .and_then(|all| all.get_mut(*name))
                .expect("a field");
        }
        change(at);
        missing_fields(&stored, &wanted)
    }

    fn without(path: &[&str], name: &str) -> Vec<String> {
        changed(path, |schema| {
            schema
                .properties
                .as_mut()
                .expect("fields")
                .remove(name)
                .expect("the field");
        })
    }

    #[test]
    fn a_crd_lacks_nothing_of_itself() {
        assert_eq!(changed(&[], |_| {}), Vec::<String>::new());
    }

    #[test]
    fn a_field_that_is_not_there_is_named_with_its_path_and_none_below_it() {
        assert_eq!(without(&["spec"], "suspend"), ["spec.suspend"]);
        assert_eq!(without(&["spec", "rollout"], "onFailure"), ["spec.rollout.onFailure"]);
        assert_eq!(without(&["spec"], "rollout"), ["spec.rollout"]);
        assert_eq!(without(&["status"], "generations"), ["status.generations"]);
    }

    #[test]
    fn a_field_of_the_entries_of_a_list_is_named_too() {
        let missing = changed(&["status", "conditions"], |list| {
            let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut list.items else {
                panic!("a list");
            };
            items.properties.as_mut().expect("fields").remove("reason");
        });
        assert_eq!(missing, ["status.conditions[].reason"]);
    }

    #[test]
    fn nothing_is_missing_where_unknown_fields_are_kept() {
        let missing = changed(&["spec", "rollout"], |rollout| {
            rollout.properties = Some(BTreeMap::new());
            rollout.x_kubernetes_preserve_unknown_fields = Some(true);
        });
        assert_eq!(missing, Vec::<String>::new());
    }

    #[test]
    fn descriptions_and_limits_are_not_compared() {
        let missing = changed(&["spec", "replicas"], |replicas| {
            replicas.description = Some("else".to_owned());
            replicas.maximum = Some(7.0);
        });
        assert_eq!(missing, Vec::<String>::new());
    }

    #[test]
    fn a_version_that_is_not_served_and_a_subresource_that_is_not_there_are_named() {
        let wanted = crds().remove(0);
        let mut stored = wanted.clone();
        stored.spec.versions[0].subresources = None;
        assert_eq!(
            missing_fields(&stored, &wanted),
            ["subresource status", "subresource scale"]
        );
        stored.spec.versions[0].served = false;
        assert_eq!(missing_fields(&stored, &wanted), ["version v1alpha1"]);
    }
}
