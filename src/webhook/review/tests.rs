//! Reviews as an API server sends them, whole and broken; answers as it reads them.

use serde_json::json;

use super::*;
use crate::core::violation::FaultKind;

fn review() -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": {"group": "streams.sentry.io", "version": "v1alpha1", "kind": "StreamingPipeline"},
            "resource": {"group": "streams.sentry.io", "version": "v1alpha1", "resource": "streamingpipelines"},
            "name": "checkout",
            "namespace": "ingest",
            "operation": "UPDATE",
            "userInfo": {"username": "admin"},
            "object": {"metadata": {"name": "checkout"}, "spec": {"replicas": 2}},
            "oldObject": {"metadata": {"name": "checkout"}, "spec": {"replicas": 1}},
            "dryRun": true,
            "options": {"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1"}
        }
    })
}

fn decoded(review: &Value) -> Result<Review, NotAReview> {
    decode(review.to_string().as_bytes())
}

fn fault(review: &Value) -> String {
    decoded(review).expect("a uid").request.expect_err("a fault")
}

#[test]
fn a_review_is_read_with_its_objects_as_they_are() {
    let review = decoded(&review()).expect("a review");
    assert_eq!(review.uid, "705ab4f5-6393-11e8-b7cc-42010a800002");
    let request = review.request.expect("a request");
    assert_eq!(request.operation, Operation::Update);
    assert_eq!(
        (request.namespace.as_str(), request.name.as_str()),
        ("ingest", "checkout")
    );
    assert!(request.dry_run);
    assert_eq!(request.object["spec"]["replicas"], json!(2));
    assert_eq!(
        request.old_object.expect("the old object")["spec"]["replicas"],
        json!(1)
    );
}

#[test]
fn a_null_old_object_is_none() {
    let mut review = review();
    review["request"]["operation"] = json!("CREATE");
    review["request"]["oldObject"] = Value::Null;
    let request = decoded(&review).expect("a review").request.expect("a request");
    assert_eq!(request.operation, Operation::Create);
    assert_eq!(request.old_object, None);
}

#[test]
fn an_object_that_has_only_the_beginning_of_a_name_is_called_by_that() {
    let mut review = review();
    review["request"]["name"] = json!("");
    review["request"]["object"]["metadata"] = json!({"generateName": "checkout-"});
    let request = decoded(&review).expect("a review").request.expect("a request");
    assert_eq!(
        (request.name.as_str(), request.display_name().as_str()),
        ("", "checkout-")
    );
}

#[test]
fn without_json_a_request_or_a_uid_there_is_no_review_to_answer() {
    assert!(matches!(decode(b"\xff{"), Err(NotAReview::NotJson(_))));
    assert!(matches!(decode(b""), Err(NotAReview::NotJson(_))));
    let mut no_uid = review();
    no_uid["request"]["uid"] = Value::Null;
    for body in [
        json!([]),
        json!({}),
        json!({"request": null}),
        json!({"request": "x"}),
        no_uid,
    ] {
        assert_eq!(decoded(&body), Err(NotAReview::NoRequest), "{body}");
    }
}

#[test]
fn another_kind_of_review_or_of_object_is_a_fault_with_the_uid_at_hand() {
    let mut other_review = review();
    other_review["apiVersion"] = json!("admission.k8s.io/v1beta1");
    assert_eq!(
        fault(&other_review),
        "this webhook answers kind AdmissionReview of admission.k8s.io/v1 only"
    );
    let mut other_object = review();
    other_object["request"]["kind"] = json!({"group": "", "version": "v1", "kind": "Pod"});
    assert_eq!(
        fault(&other_object),
        "this webhook judges StreamingPipeline of streams.sentry.io/v1alpha1 only, not kind \"Pod\" of \"\" in version \
         \"v1\"; correct the rules of the webhook configuration"
    );
    let mut no_kind = review();
    no_kind["request"]["kind"] = json!("StreamingPipeline");
    assert!(fault(&no_kind).starts_with("this webhook judges StreamingPipeline"));
}

#[test]
fn a_create_or_update_without_an_object_is_a_fault() {
    for object in [Value::Null, json!("x"), json!([])] {
        let mut review = review();
        review["request"]["object"] = object;
        assert_eq!(fault(&review), "request.object is missing");
    }
}

fn encoded(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.encode("u1").expect("JSON")).expect("JSON")
}

fn violation(path: &str, message: &str) -> Violation {
    Violation {
        rule: "test",
        path: path.to_owned(),
        kind: FaultKind::Invalid,
        message: message.to_owned(),
    }
}

#[test]
fn an_admission_without_a_patch_says_nothing_of_one() {
    assert_eq!(
        encoded(&Answer::default()),
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {"uid": "u1", "allowed": true}})
    );
}

#[test]
fn a_patch_is_base64_text_with_its_type() {
    let answer = Answer {
        patch: Some("W10=".to_owned()),
        warnings: vec!["spec.image_name: careful".to_owned()],
        ..Answer::default()
    };
    assert_eq!(
        encoded(&answer)["response"],
        json!({"uid": "u1", "allowed": true, "patchType": "JSONPatch", "patch": "W10=",
               "warnings": ["spec.image_name: careful"]})
    );
}

#[test]
fn faults_are_a_status_as_the_api_server_gives_it_for_its_own_kinds() {
    let violations = [violation("spec.replicas", "too many"), violation("spec.a", "wrong")];
    assert_eq!(
        encoded(&Answer::invalid("checkout", &violations, Vec::new()))["response"],
        json!({"uid": "u1", "allowed": false, "status": {
            "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure", "code": 422, "reason": "Invalid",
            "message": "StreamingPipeline.streams.sentry.io \"checkout\" is invalid: [spec.replicas: too many, spec.a: wrong]",
            "details": {"group": "streams.sentry.io", "kind": "StreamingPipeline", "name": "checkout", "causes": [
                {"field": "spec.replicas", "message": "too many", "reason": "FieldValueInvalid"},
                {"field": "spec.a", "message": "wrong", "reason": "FieldValueInvalid"}
            ]}
        }})
    );
}

#[test]
fn a_single_fault_stands_without_brackets() {
    let answer = Answer::invalid("c", &[violation("spec.a", "wrong")], Vec::new());
    assert_eq!(
        encoded(&answer)["response"]["status"]["message"],
        json!("StreamingPipeline.streams.sentry.io \"c\" is invalid: spec.a: wrong")
    );
}

#[test]
fn beyond_20_faults_one_last_cause_says_how_many_more() {
    let violations: Vec<_> = (0..23).map(|n| violation(&format!("spec.f{n}"), "wrong")).collect();
    let answer = encoded(&Answer::invalid("c", &violations, Vec::new()));
    let causes = answer["response"]["status"]["details"]["causes"]
        .as_array()
        .expect("causes");
    assert_eq!(causes.len(), 21);
    assert_eq!(causes[19]["field"], json!("spec.f19"));
    assert_eq!(causes[20]["message"], json!("and 3 more"));
    let message = answer["response"]["status"]["message"].as_str().expect("a message");
    assert!(message.ends_with("spec.f19: wrong, and 3 more]"), "{message}");
}

#[test]
fn an_object_nested_too_deep_is_answered_to_its_uid() {
    let mut review = review();
    review["request"]["object"]["spec"]["pipeline_config"] = json!("HERE");
    let nested = format!("{}1{}", r#"{"a":"#.repeat(300), "}".repeat(300));
    let body = review.to_string().replace(r#""HERE""#, &nested);
    let review = decode(body.as_bytes()).expect("a uid");
    assert_eq!(review.uid, "705ab4f5-6393-11e8-b7cc-42010a800002");
    let why = review.request.expect_err("no reader goes that deep");
    assert!(
        why.starts_with("the object cannot be read: recursion limit exceeded"),
        "{why}"
    );
}

#[test]
fn a_review_is_read_in_one_pass_as_it_is_read_value_by_value() {
    let mut create = review();
    create["request"]["operation"] = json!("CREATE");
    create["request"]["oldObject"] = Value::Null;
    let mut scale = review();
    scale["request"]["subResource"] = json!("scale");
    for review in [review(), create, scale] {
        let body = review.to_string();
        let quick = quick::read(body.as_bytes()).expect("a usual review");
        assert_eq!(Ok(quick), decode_any(body.as_bytes()), "{body}");
    }
}

#[test]
fn status_and_managed_fields_are_not_read_however_deep_they_are() {
    let mut review = review();
    review["request"]["object"]["metadata"]["managedFields"] = json!("HERE");
    review["request"]["oldObject"]["status"] = json!("HERE");
    let nested = format!("{}1{}", r#"{"a":"#.repeat(300), "}".repeat(300));
    let body = review.to_string().replace(r#""HERE""#, &nested);
    let request = decode(body.as_bytes()).expect("a uid").request.expect("a request");
    assert_eq!(request.object["metadata"], json!({"name": "checkout"}));
    let old = request.old_object.expect("the old object");
    assert_eq!(old, json!({"metadata": {"name": "checkout"}, "spec": {"replicas": 1}}));
}

#[test]
fn an_empty_uid_is_none_also_when_the_object_cannot_be_read() {
    let nested = format!("{}1{}", r#"{"a":"#.repeat(300), "}".repeat(300));
    let body = format!(r#"{{"request":{{"uid":"","object":{nested}}}}}"#);
    assert_eq!(decode(body.as_bytes()), Err(NotAReview::NoRequest));
}
