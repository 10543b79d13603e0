//! Reads a page of metrics. Judges of the formats are `promtool` (Prometheus text, 0.0.4) and the
//! OpenMetrics parser of the Python client of Prometheus. HELP texts must be in plain English.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::probes::prose;

/// The format of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `text/plain; version=0.0.4`: the format of classic Prometheus scrapers.
    Prometheus,
    /// `application/openmetrics-text; version=1.0.0`: the format that newer scrapers request.
    OpenMetrics,
}

/// A page of metrics that follows its format.
#[derive(Debug, Default)]
pub struct ExpositionPage {
    /// The kind of each family, by name.
    pub families: BTreeMap<String, String>,
    /// Each value by its series, in the form `name` or `name{label="value",...}`.
    pub series: BTreeMap<String, f64>,
}

impl ExpositionPage {
    /// The value of a series; `None` when the page lacks it.
    pub fn value(&self, series: &str) -> Option<f64> {
        self.series.get(series).copied()
    }

    /// The sum of all series of that name.
    pub fn sum(&self, name: &str) -> f64 {
        let of = |series: &str| series.split('{').next() == Some(name);
        self.series.iter().filter(|(series, _)| of(series)).map(|(_, value)| value).sum()
    }
}

/// Reads a page.
///
/// # Errors
/// The complaint of the judge, or a HELP text that is not plain.
pub fn read(text: &str, form: Form) -> Result<ExpositionPage> {
    judge(text, form)?;
    let mut page = ExpositionPage::default();
    for line in text.lines() {
        let context = || format!("in the line {line:?}");
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, words) = rest.split_once(' ').with_context(context)?;
            let faults = prose::faults(&prose::of_markdown(words));
            ensure!(faults.is_empty(), "the help of {name} is not plain: {faults:?}");
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').with_context(context)?;
            page.families.insert(name.to_owned(), kind.to_owned());
        } else if !line.starts_with('#') {
            let (series, value) = line.rsplit_once(' ').with_context(context)?;
            page.series.insert(series.to_owned(), value.parse().with_context(context)?);
        }
    }
    Ok(page)
}

/// Fails with the complaint of the judge of this format.
fn judge(text: &str, form: Form) -> Result<()> {
    const PARSER: &str = "import sys\n\
        from prometheus_client.openmetrics.parser import text_string_to_metric_families\n\
        list(text_string_to_metric_families(sys.stdin.read()))";
    let mut judge = match form {
        Form::Prometheus => {
            let mut promtool = Command::new("promtool");
            promtool.args(["check", "metrics"]);
            promtool
        }
        Form::OpenMetrics => {
            // The interpreter of Debian has the package of Debian.
            let mut python = Command::new("/usr/bin/python3");
            python.args(["-c", PARSER]);
            python
        }
    };
    judge.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut judge = judge.spawn().with_context(|| format!("{judge:?} does not start"))?;
    let mut input = judge.stdin.take().context("a pipe")?;
    // A judge that refuses an early line may read no further.
    let _ = input.write_all(text.as_bytes());
    drop(input);
    let output = judge.wait_with_output()?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the page is wrong: {complaint}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_valid_page_is_read_in_both_forms() {
        let text =
            "# HELP a_total A\n# TYPE a_total counter\na_total{x=\"b\"} 1\na_total{x=\"c\"} 2\n";
        let page = read(text, Form::Prometheus).unwrap();
        assert_eq!(page.value("a_total{x=\"c\"}"), Some(2.0));
        assert_eq!(page.sum("a_total"), 3.0);
        let open = "# HELP a A\n# TYPE a counter\na_total 1\n# EOF\n";
        assert_eq!(read(open, Form::OpenMetrics).unwrap().value("a_total"), Some(1.0));
    }

    #[test]
    fn a_page_that_breaks_its_form_is_refused() {
        for (wrong, form) in [
            ("# HELP g G\n# TYPE g gauge\ng x\n", Form::Prometheus),
            ("# HELP c C\n# TYPE c counter\nc 1\n", Form::Prometheus),
            ("# TYPE g gauge\ng 1\n", Form::Prometheus),
            ("# HELP g What is told\n# TYPE g gauge\ng 1\n", Form::Prometheus),
            ("# HELP a A\n# TYPE a counter\na_total 1\n", Form::OpenMetrics),
            ("# HELP a A\n# TYPE a counter\na 1\n# EOF\n", Form::OpenMetrics),
        ] {
            assert!(read(wrong, form).is_err(), "{wrong}");
        }
    }
}
