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
    assert_eq!((request.name.as_str(), request.display_name()), ("", "checkout-"));
}

#[test]
fn without_json_a_request_or_a_uid_there_is_no_review_to_answer() {
    assert!(matches!(decode(b"\xff{"), Err(NotAReview::NotJson(_))));
    assert!(matches!(decode(b""), Err(NotAReview::NotJson(_))));
    let mut no_uid = review();
    no_uid["request"]["uid"] = Value::Null;
    for body in [
        json!([]),
        json!("x"),
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
        "this webhook judges StreamingPipeline and RolloutAnalysis of streams.sentry.io/v1alpha1 only, not kind \"Pod\" of \"\" \
         in version \"v1\"; correct the rules of the webhook configuration"
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
        encoded(&Answer::invalid(
            Kind::StreamingPipeline,
            "checkout",
            &violations,
            Vec::new()
        ))["response"],
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
    let answer = Answer::invalid(
        Kind::StreamingPipeline,
        "c",
        &[violation("spec.a", "wrong")],
        Vec::new(),
    );
    assert_eq!(
        encoded(&answer)["response"]["status"]["message"],
        json!("StreamingPipeline.streams.sentry.io \"c\" is invalid: spec.a: wrong")
    );
}

#[test]
fn beyond_20_faults_one_last_cause_says_how_many_more() {
    let violations: Vec<_> = (0..23).map(|n| violation(&format!("spec.f{n}"), "wrong")).collect();
    let answer = encoded(&Answer::invalid(Kind::StreamingPipeline, "c", &violations, Vec::new()));
    let causes = answer["response"]["status"]["details"]["causes"]
        .as_array()
        .expect("causes");
    assert_eq!(causes.len(), 21);
    assert_eq!(causes[19]["field"], json!("spec.f19"));
    assert_eq!(causes[20]["message"], json!("and 3 more"));
    let message = answer["response"]["status"]["message"].as_str().expect("a message");
    assert!(message.ends_with("spec.f19: wrong, and 3 more]"), "{message}");
}

/// The body of a review whose object, or old object, has `levels` objects in its `pipeline_config`.
fn nested(field: &str, levels: usize) -> Vec<u8> {
    let mut review = review();
    review["request"][field]["spec"]["pipeline_config"] = json!("HERE");
    let nested = format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
    review.to_string().replace(r#""HERE""#, &nested).into_bytes()
}

#[test]
fn a_deep_object_is_read_as_far_as_the_rule_on_nesting_looks_and_further() {
    for levels in [64, 100, 125, 126, 300, 9_000] {
        let review = decode(&nested("object", levels)).expect("a uid");
        let request = review.request.expect("a request");
        assert_eq!(request.object["spec"]["replicas"], json!(2), "{levels}");
        assert_eq!(
            request.old_object.expect("the old object")["spec"]["replicas"],
            json!(1)
        );
        let mut value = &request.object["spec"]["pipeline_config"];
        for level in 1..=64 {
            assert!(value.is_object(), "level {level} of {levels}");
            value = &value["a"];
        }
    }
}

#[test]
fn a_stored_object_that_is_nested_too_deep_does_not_hide_the_one_that_mends_it() {
    let request = decode(&nested("oldObject", 300))
        .expect("a uid")
        .request
        .expect("a request");
    assert_eq!(request.object["spec"], json!({"replicas": 2}));
    let old = request.old_object.expect("the old object");
    assert_eq!(old["spec"]["replicas"], json!(1));
    let config = &old["spec"]["pipeline_config"];
    let same = decode(&nested("object", 300))
        .expect("a uid")
        .request
        .expect("a request");
    assert_ne!(
        &same.object["spec"]["pipeline_config"], config,
        "what was not read is not the same"
    );
}

#[test]
fn a_new_object_that_no_reader_of_json_takes_is_answered_to_its_uid() {
    let body = String::from_utf8(nested("object", 1)).expect("UTF-8");
    let half_a_character = body.replace(r#"{"a":1}"#, r#"{"a":"\ud800"}"#);
    let review = decode(half_a_character.as_bytes()).expect("a uid");
    assert_eq!(review.uid, "705ab4f5-6393-11e8-b7cc-42010a800002");
    let why = review.request.expect_err("no text has half a character");
    assert!(why.starts_with("the object cannot be read: "), "{why}");
    let body = String::from_utf8(nested("oldObject", 1)).expect("UTF-8");
    let half_a_character = body.replace(r#"{"a":1}"#, r#"{"a":"\ud800"}"#);
    let request = decode(half_a_character.as_bytes())
        .expect("a uid")
        .request
        .expect("a request");
    assert_eq!(request.old_object, None, "nothing is known of it");
}

#[test]
fn the_user_is_read_with_everything_that_rights_may_hang_on() {
    let mut review = review();
    review["request"]["userInfo"] = json!({
        "username": "jane", "uid": "u-1", "groups": ["a", "b"], "extra": {"scopes": ["x", "y"]}, "other": 1});
    let user = decoded(&review).expect("a review").request.expect("a request").user;
    let extra = [("scopes".to_owned(), vec!["x".to_owned(), "y".to_owned()])].into();
    assert_eq!(
        (user.username.as_deref(), user.uid.as_deref()),
        (Some("jane"), Some("u-1"))
    );
    assert_eq!(
        (user.groups, user.extra),
        (Some(vec!["a".to_owned(), "b".to_owned()]), Some(extra))
    );
    review["request"]["userInfo"] = json!("jane");
    let user = decoded(&review).expect("a review").request.expect("a request").user;
    assert_eq!(user, UserInfo::default(), "nobody, then, who may do nothing");
}

#[test]
fn a_refusal_of_a_user_is_a_status_as_the_api_server_gives_it() {
    let status = &encoded(&Answer::forbidden(Kind::StreamingPipeline, "checkout", "no"))["response"]["status"];
    assert_eq!(
        status,
        &json!({"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure", "code": 403,
                "reason": "Forbidden",
                "message": "streamingpipelines.streams.sentry.io \"checkout\" is forbidden: no",
                "details": {"group": "streams.sentry.io", "kind": "streamingpipelines", "name": "checkout"}})
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
