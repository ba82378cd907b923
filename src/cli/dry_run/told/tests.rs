use serde_json::{Value, json};

use super::*;

fn reply(code: u16, body: &Value) -> Reply {
    Reply {
        code,
        body: body.to_string().into_bytes(),
        warnings: vec!["w".to_owned()],
    }
}

fn found(field: &str, rule: &'static str, message: &str) -> Fault {
    Fault {
        field: field.to_owned(),
        rule,
        reason: "FieldValueInvalid".into(),
        message: message.to_owned(),
    }
}

#[test]
fn causes_are_faults_with_their_fields() {
    let status = json!({"kind": "Status", "code": 422, "reason": "Invalid", "message": "all", "details": {"causes": [
        {"field": "spec.replicas", "message": "too many", "reason": "FieldValueInvalid"},
        {"field": "spec.pipeline_name", "message": "NameCollision: taken", "reason": "FieldValueInvalid"},
        {"field": "<nil>", "message": "odd", "reason": "FieldValueInvalid"}]}});
    let Told::Refused { faults, warnings } = reply(422, &status).told() else {
        panic!("it is refused");
    };
    assert_eq!(warnings, ["w"]);
    assert_eq!(
        faults,
        [
            found("spec.replicas", "api-server", "too many"),
            found("spec.pipeline_name", "NameCollision", "NameCollision: taken"),
            found("", "api-server", "odd")
        ]
    );
}

#[test]
fn what_has_no_causes_is_the_fault_of_the_whole() {
    let status = json!({"kind": "Status", "code": 413, "message": "Request entity too large"});
    let (faults, _, unasked) = reply(413, &status).told().into_parts();
    assert_eq!(
        (faults, unasked),
        (vec![found("", "api-server", "Request entity too large")], None)
    );
}

#[test]
fn a_namespace_that_is_not_there_is_a_fault_and_a_kind_that_is_not_is_none() {
    let status = json!({"code": 404, "reason": "NotFound", "message": "namespaces \"n\" not found",
                        "details": {"name": "n", "kind": "namespaces"}});
    let (faults, ..) = reply(404, &status).told().into_parts();
    assert_eq!(
        faults,
        [found("metadata.namespace", "api-server", "namespaces \"n\" not found")]
    );
}

#[test]
fn an_answer_that_says_nothing_of_the_document_is_no_fault_of_it() {
    for code in [401, 408, 429, 500, 503, 504] {
        let status = json!({"code": code, "message": "failed calling webhook"});
        let told = reply(code, &status).told();
        assert_eq!(told, Told::Unasked("failed calling webhook".to_owned()), "{code}");
    }
    let broken = Reply {
        code: 502,
        body: b"<html>bad gateway</html>\n".to_vec(),
        warnings: Vec::new(),
    };
    assert_eq!(broken.told(), Told::Unasked("<html>bad gateway</html>".to_owned()));
    let conflict = json!({"code": 409, "reason": "AlreadyExists", "message": "already exists"});
    assert_eq!(
        reply(409, &conflict).told(),
        Told::Overtaken("already exists".to_owned())
    );
}

#[test]
fn unknown_fields_are_told_one_by_one() {
    let message = "StreamingPipeline in version \"v1alpha1\" cannot be handled as a StreamingPipeline: strict \
                   decoding error: unknown field \"spec.a\", unknown field \"spec.rollout.b\"";
    let unknown = reply(400, &json!({"code": 400, "message": message})).unknown_fields();
    let fields: Vec<_> = unknown.iter().map(|fault| fault.field.as_str()).collect();
    assert_eq!(fields, ["spec.a", "spec.rollout.b"]);
    assert_eq!(reply(200, &json!({})).unknown_fields(), []);
    assert_eq!(reply(400, &json!({"message": "other"})).unknown_fields(), []);
}

#[test]
fn those_of_a_patch_come_with_the_patched_object_before_them() {
    let message = "patch: Invalid value: \"{\\\"a\\\": \\\"strict decoding error: unknown field \\\\\"x\\\\\"\\\"}\": strict \
                   decoding error: unknown field \"spec.replica\"";
    let causes = json!([{"reason": "FieldValueInvalid", "message": message, "field": "patch"}]);
    let body = json!({"code": 422, "message": message, "details": {"causes": causes}});
    let unknown = reply(422, &body).unknown_fields();
    let fields: Vec<_> = unknown.iter().map(|fault| fault.field.as_str()).collect();
    assert_eq!(fields, ["spec.replica"]);
    let causes = json!([{"message": message, "field": "spec.log_level"}]);
    let of_a_value = json!({"code": 422, "message": message, "details": {"causes": causes}});
    assert_eq!(reply(422, &of_a_value).unknown_fields(), []);
}

#[test]
fn what_the_api_server_says_of_its_own_rules_is_told_only_where_nothing_else_is() {
    let remark = json!({"field": "<nil>", "message": "Invalid value: null: some validation rules were not checked \
                        because the object was invalid; correct the existing errors to complete validation"});
    let fault = json!({"field": ".spec.replicas", "message": "Invalid value: 0: accessor error"});
    let fields = |causes: Value| {
        let told = reply(
            422,
            &json!({"code": 422, "reason": "Invalid", "details": {"causes": causes}}),
        )
        .told();
        let faults = told.into_parts().0.into_iter();
        faults.map(|fault| fault.field).collect::<Vec<_>>()
    };
    assert_eq!(fields(json!([fault, remark.clone()])), ["spec.replicas"]);
    assert_eq!(fields(json!([remark])), [""]);
}

#[test]
fn the_text_of_a_warning_is_unquoted() {
    assert_eq!(
        warning(r#"299 - "spec.a: \"b\" \\ c""#),
        Some(r#"spec.a: "b" \ c"#.to_owned())
    );
    assert_eq!(warning("299 - broken"), None);
    assert_eq!(warning(r#"299 - "broken"#), None);
}

#[test]
fn a_fault_that_both_found_appears_once() {
    let here = vec![found("spec.a", "field-ranges", "is 0")];
    let told = vec![
        found("spec.a", "api-server", "Invalid value: 0"),
        found("spec.b", "api-server", "immutable"),
        found("spec.pipeline_name", "NameCollision", "NameCollision: taken"),
    ];
    let fields = |faults: Vec<Fault>| faults.into_iter().map(|f| (f.field, f.rule)).collect::<Vec<_>>();
    let pair = |field: &str, rule| (field.to_owned(), rule);
    assert_eq!(
        fields(join(here, told.clone())),
        [
            pair("spec.a", "field-ranges"),
            pair("spec.b", "api-server"),
            pair("spec.pipeline_name", "NameCollision")
        ]
    );
    let name = found("spec.pipeline_name", "rendered-names", "bad");
    assert_eq!(
        join(vec![name], told.clone()).len(),
        4,
        "a collision is another fault of that field"
    );
    let taken = found("spec.pipeline_name", "NameCollision", "taken by a file");
    assert_eq!(join(vec![taken], told).len(), 3);
}

#[test]
fn the_number_of_further_faults_is_left_out_where_all_of_them_are_told() {
    let rest = || vec![found("spec", "api-server", "and 3 more")];
    let here = |number: usize| {
        (0..number)
            .map(|n| found(&format!("spec.f{n}"), "r", "m"))
            .collect::<Vec<_>>()
    };
    assert_eq!(join(here(23), rest()).len(), 23);
    assert_eq!(join(here(3), rest()).len(), 4);
}
