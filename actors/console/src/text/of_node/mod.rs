//! Sentences that the actors and workers write in English, such as the reason of a failed copy, in the language of
//! the viewer.

mod changes;
mod form_refusals;
mod problem_titles;
mod refusals;
mod sentences;
mod setting_faults;

use self::changes::CHANGES;
use self::form_refusals::FORM_REFUSALS;
use self::problem_titles::PROBLEM_TITLES;
use self::refusals::REFUSALS;
use self::sentences::SENTENCES;
use self::setting_faults::SETTING_FAULTS;
use super::language::Language;

/// How deep a sentence may hold other sentences: "the data port … did not answer: the connection was closed".
const DEPTH: usize = 4;

/// The sentence in this language. One without an entry in the table stays English.
pub fn node_words(language: Language, english: &str) -> String {
    match language {
        Language::English => english.to_owned(),
        // Faults of a configuration have a line each.
        Language::Korean => {
            let in_korean = |line: &str| {
                let text = line.trim_start();
                format!("{}{}", &line[..line.len() - text.len()], korean(text, DEPTH))
            };
            english.split('\n').map(in_korean).collect::<Vec<_>>().join("\n")
        }
    }
}

fn korean(english: &str, depth: usize) -> String {
    let Some(depth) = depth.checked_sub(1) else { return english.to_owned() };
    let found = forms().find_map(|(pattern, korean)| Some((values(pattern, english)?, korean)));
    let Some((values, form)) = found else { return behind_its_place(english, depth) };
    let mut filled = String::with_capacity(form.len() + 32);
    let mut rest = *form;
    while let Some((before, name, after)) = next_value(rest) {
        filled.push_str(before);
        if let Some((_, value)) = values.iter().find(|(known, _)| *known == name) {
            filled.push_str(&self::korean(value, depth));
        }
        rest = after;
    }
    filled.push_str(rest);
    filled
}

/// All forms, in the order in which they are tried.
fn forms() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    let of_settings = SETTING_FAULTS.iter().chain(&PROBLEM_TITLES);
    SENTENCES.iter().chain(REFUSALS).chain(FORM_REFUSALS).chain(CHANGES).chain(of_settings)
}

/// A sentence behind the place that it is about, such as a file and line, or a setting: the place stays as it is.
fn behind_its_place(english: &str, depth: usize) -> String {
    let Some((place, rest)) = english.split_once(": ") else { return english.to_owned() };
    let is_place = !place.contains(' ') || place.starts_with('/') || place.starts_with("--set ");
    match is_place {
        true => format!("{place}: {}", korean(rest, depth + 1)),
        false => english.to_owned(),
    }
}

/// The text before the first name in braces, that name, and the text after it.
fn next_value(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('{')?;
    let (name, after) = rest.split_once('}')?;
    Some((before, name, after))
}

/// The values of a pattern in a sentence. None if the sentence has another form.
fn values<'a>(pattern: &'a str, sentence: &'a str) -> Option<Vec<(&'a str, &'a str)>> {
    let mut found = Vec::new();
    let Some((before, mut name, mut pattern)) = next_value(pattern) else {
        return (pattern == sentence).then_some(found);
    };
    let mut sentence = sentence.strip_prefix(before)?;
    while let Some((before, next, after)) = next_value(pattern) {
        let (value, rest) = sentence.split_once(before)?;
        found.push((name, value));
        (name, pattern, sentence) = (next, after, rest);
    }
    let last = sentence.strip_suffix(pattern)?;
    found.push((name, last));
    found.iter().all(|(name, value)| is_good(name, value)).then_some(found)
}

/// Whether this name can stand for this value. A number has only digits. Another value is never empty, and it ends
/// with its line: a longer sentence has another form.
fn is_good(name: &str, value: &str) -> bool {
    let is_number = || value.bytes().all(|byte| byte.is_ascii_digit());
    !value.is_empty() && !value.contains('\n') && (name != "n" || is_number())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ko(english: &str) -> String {
        node_words(Language::Korean, english)
    }

    #[test]
    fn a_sentence_and_those_in_it_are_put_into_korean() {
        assert_eq!(ko("10.4.2.31:8888 is down"), "10.4.2.31:8888 응답 없음");
        assert_eq!(
            ko("the data port 10.4.1.2:8889 cannot be reached: Connection refused (os error 111)"),
            "데이터 포트 10.4.1.2:8889 연결 불가: 연결 거부됨 (os error 111)"
        );
        assert_eq!(ko("stays: it is pinned"), "유지: 고정되어 있음");
        assert_eq!(
            ko("being removed: 2 copies, 1 wanted; the copy on 10.4.2.31:8888 is kept"),
            "삭제 중: 사본 2개, 필요한 사본 1개; 10.4.2.31:8888 사본 유지"
        );
        assert_eq!(node_words(Language::English, "x is down"), "x is down");
    }

    #[test]
    fn a_refusal_and_the_reason_in_it_are_put_into_korean() {
        assert_eq!(
            ko("ttl: \"abc\" is not a lifetime: write 7d, 1h 30m or never"),
            "유효 기간: \"abc\"은(는) 유효 기간이 아닙니다. 예: 7d, 1h 30m, never"
        );
        assert_eq!(
            ko(
                "Number of boxes: \"abc\" is no whole number from 0 to 65536. Correct it, and send the form again"
            ),
            "박스 수: \"abc\"은(는) 0에서 65536까지의 정수가 아닙니다. 고친 뒤 다시 보내십시오"
        );
        assert_eq!(
            ko(
                "no destination can take 'a.mpg' now: it is larger than the free room of every destination"
            ),
            "지금 사본을 받을 수 있는 저장 서버 없음: a.mpg. 모든 저장 서버의 여유 공간보다 큼"
        );
    }

    #[test]
    fn each_fault_of_a_configuration_is_put_into_korean() {
        let english = "the configuration cannot be used: the configuration has 3 faults:\n  \
             /etc/my yard/node.toml:5: hosts.sources: entry 2: expected ip:port such as 127.0.0.1:8080, not \"x\"\n  \
             --set log.level: expected debug, info or warn, not \"loud\"\n  \
             REELYARD_TASK__TIMOUT: task.timout: is not a setting; did you mean task.timeout?";
        let wanted = "설정을 사용할 수 없음: 설정 오류 3건:\n  \
             /etc/my yard/node.toml:5: hosts.sources: 2번째 항목: ip:port 형식이 아님: \"x\". 예: 127.0.0.1:8080\n  \
             --set log.level: 허용되지 않는 값: \"loud\". 가능한 값: debug, info or warn\n  \
             REELYARD_TASK__TIMOUT: task.timout: 설정이 아님. 비슷한 설정: task.timeout";
        assert_eq!(ko(english), wanted);
    }

    #[test]
    fn a_number_has_only_digits() {
        assert_eq!(ko("2 copies, 1 wanted"), "사본 2개, 필요한 사본 1개");
        assert_eq!(ko("too. 2 copies, 1 wanted"), "too. 2 copies, 1 wanted");
        assert_eq!(ko("2 d 4 h"), "2일 4시간");
    }

    #[test]
    fn other_words_stay_as_they_are() {
        for other in ["", "is down", " is down", "the sky is blue", "{host}", "봄 is blue"] {
            assert_eq!(ko(other), other);
        }
    }

    #[test]
    fn each_form_of_the_table_is_found_and_fills_the_same_values() {
        let titles = PROBLEM_TITLES.len();
        for &(english, korean) in forms().take(forms().count() - titles) {
            let names = |text: &str| {
                let mut names = Vec::new();
                let mut rest = text.to_owned();
                while let Some((_, name, after)) = next_value(&rest) {
                    names.push(name.to_owned());
                    rest = after.to_owned();
                }
                names.sort();
                names
            };
            assert_eq!(names(english), names(korean), "{english}");
            assert!(korean.chars().any(|letter| ('가'..='힣').contains(&letter)), "{english}");
            // Values that no form of the table has: so no part of the sentence stays English.
            let sentence = names(english).iter().fold(english.to_string(), |text, name| {
                let value = if name == "n" { "7".to_owned() } else { format!("〈{name}〉") };
                text.replace(&format!("{{{name}}}"), &value)
            });
            let shown = ko(&sentence);
            assert!(
                shown.chars().any(|letter| ('가'..='힣').contains(&letter)),
                "{sentence}: {shown}"
            );
            let first = forms().find(|(form, _)| values(form, &sentence).is_some());
            assert_eq!(first.map(|(form, _)| *form), Some(english), "an earlier form hides it");
        }
    }
}
