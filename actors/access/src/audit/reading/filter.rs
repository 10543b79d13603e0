//! Selects rows. Pure.

use memchr::memmem;
use reelyard_core::clock::Millis;
use serde::Deserialize;

use crate::audit::format::row::AuditRow;

/// Whether an act was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum AuditOutcome {
    /// The act was carried out.
    Accepted,
    /// The call was refused, or it failed.
    Refused,
}

/// Selects rows. Each member that is set must match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditRowFilter {
    /// The kind of the actor, its name, or both as in "user alice".
    pub actor: Option<String>,
    /// The subject, or its kind, or the name of one of its objects: "share ABC", "share" or "ABC".
    pub subject: Option<String>,
    /// The operation, or its part before the dot.
    pub operation: Option<String>,
    /// An operation whose accepted acts are left out. Refused ones stay.
    pub without: Option<String>,
    /// Only rows at or after this time.
    pub since: Option<Millis>,
    /// Only rows before this time.
    pub until: Option<Millis>,
    /// Only acts that were carried out, or only others.
    pub outcome: Option<AuditOutcome>,
}

impl AuditRowFilter {
    /// Whether the row in this line can match: each wanted word is in the line. This is much faster than reading
    /// the row.
    pub(super) fn can_match(&self, line: &[u8]) -> bool {
        let texts = [&self.actor, &self.subject, &self.operation];
        let mut words = texts.into_iter().flatten().flat_map(|text| text.split(' '));
        words.all(|word| is_escaped(word) || memmem::find(line, word.as_bytes()).is_some())
    }

    /// Whether the row matches.
    pub fn matches(&self, row: &AuditRow) -> bool {
        let record = &row.record;
        let of_outcome = |outcome| match outcome {
            AuditOutcome::Accepted => record.is_accepted(),
            AuditOutcome::Refused => !record.is_accepted(),
        };
        self.since.is_none_or(|since| record.at >= since)
            && self.until.is_none_or(|until| record.at < until)
            && self.outcome.is_none_or(of_outcome)
            && self.actor.as_deref().is_none_or(|actor| record.actor.is_called(actor))
            && self
                .operation
                .as_deref()
                .is_none_or(|wanted| is_operation(&record.operation, wanted))
            && !self
                .without
                .as_deref()
                .is_some_and(|left_out| record.operation == left_out && record.is_accepted())
            && self.subject.as_deref().is_none_or(|wanted| {
                record.subject.as_deref().is_some_and(|subject| is_subject(subject, wanted))
            })
    }
}

/// Whether JSON writes this word in another way.
fn is_escaped(word: &str) -> bool {
    word.bytes().any(|byte| byte < b' ' || matches!(byte, b'"' | b'\\'))
}

fn is_operation(operation: &str, wanted: &str) -> bool {
    operation == wanted || operation.split_once('.').is_some_and(|(group, _)| group == wanted)
}

fn is_subject(subject: &str, wanted: &str) -> bool {
    let names = subject.split_once(' ').map_or("", |(_, names)| names);
    subject == wanted
        || subject.split(' ').any(|word| word.trim_end_matches(',') == wanted)
        || names.split(", ").any(|name| name == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::format::chain::ChainHash;
    use crate::audit::record::{AuditActor, AuditRecord};

    #[test]
    fn a_line_without_a_wanted_word_cannot_match() {
        let line = br#"{"actor":{"kind":"user","name":"alice"},"subject":"share \"x\""}"#;
        let of = |actor: &str, subject: &str| AuditRowFilter {
            actor: Some(actor.to_owned()),
            subject: Some(subject.to_owned()),
            ..AuditRowFilter::default()
        };
        assert!(of("user alice", "share").can_match(line));
        assert!(of("alice", "\"x\"").can_match(line), "an escaped word is compared later");
        assert!(!of("user bob", "share").can_match(line));
        assert!(!of("alice", "pool").can_match(line));
        assert!(AuditRowFilter::default().can_match(line));
    }

    #[test]
    fn each_member_of_a_filter_must_match() {
        let record = AuditRecord {
            actor: AuditActor::of(&crate::rights::Subject::Legacy),
            subject: Some("pool p box 3".to_owned()),
            status: Some(403),
            ..AuditRecord::of_node(Millis(5), "quarantineBox")
        };
        let row = AuditRow { seq: 1, chain: ChainHash::START, record };
        let some = |text: &str| Some(text.to_owned());
        let all = AuditRowFilter {
            actor: some("legacy"),
            subject: some("box"),
            operation: some("quarantineBox"),
            without: some("quarantineBox"),
            since: Some(Millis(5)),
            until: Some(Millis(6)),
            outcome: Some(AuditOutcome::Refused),
        };
        assert!(all.matches(&row) && AuditRowFilter::default().matches(&row));
        for other in [
            AuditRowFilter { actor: some("user"), ..all.clone() },
            AuditRowFilter { subject: some("share"), ..all.clone() },
            AuditRowFilter { operation: some("quarantine"), ..all.clone() },
            AuditRowFilter { since: Some(Millis(6)), ..all.clone() },
            AuditRowFilter { until: Some(Millis(5)), ..all.clone() },
            AuditRowFilter { outcome: Some(AuditOutcome::Accepted), ..all.clone() },
        ] {
            assert!(!other.matches(&row), "{other:?}");
        }
    }

    #[test]
    fn each_object_of_a_row_is_found() {
        let hosts = "host 10.0.0.1:8888, 10.0.0.2:8888";
        for wanted in ["host", "10.0.0.1:8888", "10.0.0.2:8888", hosts] {
            assert!(is_subject(hosts, wanted), "{wanted}");
        }
        for wanted in ["10.0.0.1", "10.0.0.3:8888", "", "host 10.0.0.1:8888"] {
            assert!(!is_subject(hosts, wanted), "{wanted}");
        }
        assert!(is_subject("file beta gamma.mpg, a.mpg", "beta gamma.mpg"));
    }

    #[test]
    fn accepted_acts_of_an_operation_are_left_out_and_refused_ones_stay() {
        let filter =
            AuditRowFilter { without: Some("takeReports".to_owned()), ..AuditRowFilter::default() };
        let matches = |operation: &str, status| {
            let record =
                AuditRecord { status: Some(status), ..AuditRecord::of_node(Millis(5), operation) };
            filter.matches(&AuditRow { seq: 1, chain: ChainHash::START, record })
        };
        assert!(!matches("takeReports", 200));
        assert!(matches("takeReports", 403));
        assert!(matches("createShare", 200));
    }
}
