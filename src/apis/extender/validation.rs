//! What makes extenders invalid (`validateExtenders`), and what upstream finds out only when it
//! asks: addresses that are none, certificates that contradict each other.

use std::collections::BTreeSet;

use crate::apis::extender::{Extender, ExtenderTlsConfig};
use crate::apis::label_syntax;
use crate::apis::profile_problem::{ProblemReason, ProfileProblem};
use crate::model::resources::is_extended;

/// Extenders of one profile at most; the CRD says so too.
const EXTENDERS_MAX: usize = 16;

/// Everything that is wrong with `extenders`, in the order of their fields.
pub(crate) fn check(extenders: &[Extender], path: &str) -> Vec<ProfileProblem> {
    let mut problems = Problems::default();
    if extenders.len() > EXTENDERS_MAX {
        let message = format!("{} extenders are too many", extenders.len());
        problems.add(path, message, format!("name {EXTENDERS_MAX} or fewer"));
    }
    let mut managed = BTreeSet::new();
    for (i, extender) in extenders.iter().enumerate() {
        let path = format!("{path}[{i}]");
        check_address(extender, &path, &mut problems);
        check_weight(extender, &path, &mut problems);
        for (j, resource) in extender.managed_resources.iter().enumerate() {
            let field = format!("{path}.managedResources[{j}].name");
            check_resource(&resource.name, &field, &mut problems);
            if !managed.insert(&resource.name) {
                let message = format!("{:?} is managed twice", resource.name);
                problems.add(field, message, "name it once, under one extender");
            }
        }
        if let Some(tls) = &extender.tls_config {
            check_tls(tls, &format!("{path}.tlsConfig"), &mut problems);
        }
    }
    let binders = extenders.iter().filter(|e| !e.bind_verb.is_empty()).count();
    if binders > 1 {
        let message = format!("found {binders} extenders implementing bind");
        problems.add(path, message, "only one extender can implement bind");
    }
    problems.0
}

fn check_address(extender: &Extender, path: &str, problems: &mut Problems) {
    const EXAMPLE: &str = "write it like http://extender.kube-system:8888/scheduler";
    let field = format!("{path}.urlPrefix");
    let url = &extender.url_prefix;
    let rest = url
        .strip_prefix("http://")
        .or_else(|| url.strip_prefix("https://"));
    let authority = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
    match authority {
        None => problems.add(field, format!("{url:?} is no HTTP address"), EXAMPLE),
        Some("") => problems.add(field, format!("{url:?} has no host"), EXAMPLE),
        // It shows in messages and logs.
        Some(authority) if authority.contains('@') => problems.add(
            field,
            "the address holds a user or a password, which everybody could read",
            "remove them and use a client certificate in tlsConfig",
        ),
        Some(_) if url.contains(['?', '#']) || url.contains(char::is_whitespace) => {
            problems.add(field, format!("no verb can follow {url:?}"), EXAMPLE);
        }
        Some(_) => {}
    }
}

fn check_weight(extender: &Extender, path: &str, problems: &mut Problems) {
    if !extender.prioritize_verb.is_empty() && extender.weight <= 0 {
        problems.add(
            format!("{path}.weight"),
            format!(
                "{} is not positive, but the extender prioritizes",
                extender.weight
            ),
            "must have a positive weight applied to it",
        );
    }
}

fn check_resource(name: &str, field: &str, problems: &mut Problems) {
    const EXAMPLE: &str = "write it like example.com/gpu";
    if let Err(message) = label_syntax::check_key(name) {
        problems.add(field, message, EXAMPLE);
    } else if !is_extended(name) {
        let message = format!("{name:?} is an invalid extended resource name");
        problems.add(field, message, EXAMPLE);
    }
}

/// `TLSConfigFor` of client-go.
fn check_tls(tls: &ExtenderTlsConfig, path: &str, problems: &mut Problems) {
    let has = |file: &str, data: &[u8]| !file.is_empty() || !data.is_empty();
    if tls.insecure && has(&tls.ca_file, &tls.ca_data.0) {
        problems.add(
            format!("{path}.insecure"),
            "a certificate that is not checked needs nobody who signed it",
            "remove insecure or caFile and caData",
        );
    }
    if has(&tls.cert_file, &tls.cert_data.0) != has(&tls.key_file, &tls.key_data.0) {
        problems.add(
            path,
            "a certificate and its key belong together",
            "give both of certFile and keyFile or certData and keyData, or none",
        );
    }
}

#[derive(Default)]
struct Problems(Vec<ProfileProblem>);

impl Problems {
    fn add(
        &mut self,
        field: impl Into<String>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let reason = ProblemReason::InvalidExtender;
        self.0
            .push(ProfileProblem::new(reason, field, message, remedy));
    }
}
