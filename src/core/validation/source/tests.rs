//! A fault of what is rendered names the field that a person can mend.

use serde_json::{Value, json};

use super::super::tests::{edited, with};
use super::super::validate;

/// Faults of a pipeline whose emergency patch says this of the Pod's spec, each as its path and message.
fn faults_of_patch(object: Value, pod: Value) -> Vec<String> {
    let object = edited(object, "emergency_patch/spec/template/spec", pod);
    let violations = validate(&object, None).violations.into_iter();
    violations.map(|fault| fault.to_string()).collect()
}

#[test]
fn a_fault_in_a_list_of_the_emergency_patch_names_the_element_of_the_patch() {
    let sidecars = with(
        "deployment_template/spec/template/spec/containers",
        json!([{"name": "log", "image": "i:1", "env": [{"name": "A", "value": "1"}]}]),
    );
    let template = "spec.emergency_patch.spec.template.spec";
    for (pod, at, message) in [
        (
            json!({"containers": [{"name": "pipeline-consumer", "env": [{"name": "A", "value": 1}]}]}),
            "containers[0].env[0].value",
            "is a number, must be a string",
        ),
        // Joined lists: the elements of the patch stand behind the others.
        (
            json!({"containers": [{"name": "new", "image": "i:1"},
                                  {"name": "log", "env": [{"name": "B", "value": "1"}, {"name": "C", "value": true}]}]}),
            "containers[1].env[1].value",
            "is the boolean true, must be a string",
        ),
        (
            json!({"containers": [{"name": "pipeline-consumer"}, {"name": "new", "image": 5}]}),
            "containers[1].image",
            "is a number, must be a string",
        ),
        (
            json!({"containers": [{"name": "pipeline-consumer", "volumeMounts": [
                {"mountPath": "/new", "name": "v"}, {"mountPath": "/etc/pipeline-config", "recursiveReadOnly": 1}]}]}),
            "containers[0].volumeMounts[1].recursiveReadOnly",
            "is a number, must be a string",
        ),
        (
            json!({"volumes": [{"name": "new", "emptyDir": {}}, {"name": "pipeline-config", "hostPath": {"path": 1}}]}),
            "volumes[1].hostPath.path",
            "is a number, must be a string",
        ),
        (
            json!({"initContainers": [{"name": "a", "image": "i:1"}, {"name": "b", "tty": "yes"}]}),
            "initContainers[1].tty",
            "is the string \"yes\", must be a boolean",
        ),
        (
            json!({"tolerations": [{"key": "a"}, {"key": 1}]}),
            "tolerations[1].key",
            "is a number, must be a string",
        ),
        (
            json!({"containers": [{"name": "new", "image": "i:1"}, {"name": "Log_2", "image": "i:1"}]}),
            "containers[1].name",
            "\"Log_2\" is no name of a container or volume: 1 to 63 of a-z, 0-9 and -",
        ),
    ] {
        assert_eq!(
            faults_of_patch(sidecars.clone(), pod.clone()),
            [format!("{template}.{at}: {message}")],
            "{pod}"
        );
    }
}

#[test]
fn a_scalar_that_the_emergency_patch_puts_over_the_templates_is_its_own_fault() {
    let limits = json!([{"name": "log", "image": "i:1", "resources": {"limits": {"cpu": "1", "memory": "many"}}}]);
    let object = with("deployment_template/spec/template/spec/containers", limits);
    assert_eq!(
        faults_of_patch(
            object,
            json!({"containers": [{"name": "log", "resources": {"limits": {"cpu": "few"}}}]})
        ),
        [
            "spec.emergency_patch.spec.template.spec.containers[0].resources.limits.cpu: \"few\" is no quantity, such as \
             500m, 2, 1.5Gi or 1e3",
            "spec.deployment_template.spec.template.spec.containers[0].resources.limits.memory: \"many\" is no quantity, \
             such as 500m, 2, 1.5Gi or 1e3",
        ]
    );
}
