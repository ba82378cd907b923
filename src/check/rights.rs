//! The operator's rights, each by verb and resource. Must never judge others than those the operator uses.

use super::{Finding, Subject};
use crate::operator::rights::{Account, Rights, missing, not_granted};

pub(super) async fn look(subject: &Subject<'_>) -> Vec<Finding> {
    let rights = Rights::of(subject.settings, subject.namespace);
    let missing = match missing(subject.client, &rights, subject.account).await {
        Ok(missing) => missing,
        Err(error) => {
            let what = match subject.account {
                Account::Asker => "create selfsubjectaccessreviews.authorization.k8s.io",
                Account::Service { .. } => "create subjectaccessreviews.authorization.k8s.io",
            };
            return vec![Finding::unasked("rights", what, &error)];
        }
    };
    if missing.is_empty() {
        let message = format!("{} has all {} that the operator uses", subject.account, rights.count());
        return vec![Finding::ok("rights", message)];
    }
    let findings = not_granted(&missing).into_iter();
    let findings =
        findings.map(|fault| Finding::wrong("rights", format!("{}: {}", subject.account, fault.what), fault.todo));
    findings.collect()
}
