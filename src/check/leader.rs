//! Who runs the pipelines: the holder of the Lease, and when it last said so. Must never write the Lease.

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;

use super::{Finding, State, Subject};
use crate::operator::NAME;

const CHECK: &str = "leader";

pub(super) async fn look(subject: &Subject<'_>) -> Vec<Finding> {
    if subject.settings.lease.is_none() {
        let message = "there is no election (--leader-elect=false): every replica runs the pipelines";
        return vec![Finding::ok(CHECK, message)];
    }
    let api = Api::<Lease>::namespaced(subject.client.clone(), subject.namespace);
    let place = format!("Lease {}/{NAME}", subject.namespace);
    vec![match api.get_opt(NAME).await {
        Err(error) => Finding::unasked(CHECK, &format!("get leases {NAME} in {}", subject.namespace), &error),
        Ok(None) => nobody(&format!("{place} is not there: no replica has led yet")),
        Ok(Some(lease)) => judge(&place, &lease, subject.now),
    }]
}

fn judge(place: &str, lease: &Lease, now: Timestamp) -> Finding {
    let spec = lease.spec.clone().unwrap_or_default();
    let holder = spec.holder_identity.filter(|holder| !holder.is_empty());
    let (Some(holder), Some(renewed)) = (holder, spec.renew_time) else {
        return nobody(&format!("nobody holds {place}"));
    };
    let age = now.duration_since(renewed.0).as_secs();
    let duration = i64::from(spec.lease_duration_seconds.unwrap_or_default());
    if age > duration {
        return nobody(&format!(
            "{holder} holds {place} and has not renewed it for {age} s (by this machine's clock); it lasts {duration} s"
        ));
    }
    if age < -duration {
        let message = format!(
            "{holder} holds {place}; it was renewed {} s ahead of this machine's clock",
            -age
        );
        return Finding::told(CHECK, State::Warning, message, "set the clocks");
    }
    let age = age.max(0);
    Finding::ok(CHECK, format!("{holder} holds {place}, renewed {age} s ago"))
}

fn nobody(message: &str) -> Finding {
    let todo = "no pipeline is rolled out or healed: look at the operator's Pods and their log";
    Finding::wrong(CHECK, message, todo)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::coordination::v1::LeaseSpec;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

    use super::*;

    fn judged(holder: &str, renewed_at: i64) -> (State, String) {
        let lease = Lease {
            spec: Some(LeaseSpec {
                holder_identity: Some(holder.to_owned()),
                lease_duration_seconds: Some(15),
                renew_time: Some(MicroTime(Timestamp::from_second(renewed_at).expect("a time"))),
                ..LeaseSpec::default()
            }),
            ..Lease::default()
        };
        let finding = judge("Lease ops/x", &lease, Timestamp::from_second(1000).expect("a time"));
        (finding.state, finding.message)
    }

    #[test]
    fn a_lease_is_held_while_its_duration_has_not_passed() {
        assert_eq!(
            judged("pod-1", 990),
            (State::Ok, "pod-1 holds Lease ops/x, renewed 10 s ago".to_owned())
        );
        assert_eq!(judged("pod-1", 984).0, State::Wrong);
        assert_eq!(judged("", 999), (State::Wrong, "nobody holds Lease ops/x".to_owned()));
    }

    #[test]
    fn a_clock_that_is_off_is_not_taken_for_a_leader_that_is_away() {
        assert_eq!(judged("pod-1", 1010).0, State::Ok);
        assert_eq!(judged("pod-1", 1100).0, State::Warning);
    }
}
