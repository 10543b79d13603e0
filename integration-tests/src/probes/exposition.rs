//! A strict reader of Prometheus' text format (0.0.4) and of OpenMetrics 1.0, for the parts that Reelyard
//! uses. It refuses input that a lenient scraper accepts, and HELP texts that are not in plain English.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail, ensure};

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

/// The family of the lines that follow.
struct ExpositionFamily {
    name: String,
    kind: String,
    /// The buckets of each histogram so far, by its other labels.
    buckets: BTreeMap<String, Vec<(f64, f64)>>,
    counts: BTreeMap<String, f64>,
}

/// Reads a page.
///
/// # Errors
/// Names the first line that breaks the format.
pub fn read(text: &str, form: Form) -> Result<ExpositionPage> {
    let mut page = ExpositionPage::default();
    let mut help: Option<String> = None;
    let mut family: Option<ExpositionFamily> = None;
    let mut ended = false;
    ensure!(text.ends_with('\n'), "the last line has no end");
    for line in text.lines() {
        let read = || format!("in the line {line:?}");
        ensure!(!ended, "something behind the end: {line:?}");
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, words) = rest.split_once(' ').with_context(read)?;
            ensure!(help.is_none() && !words.trim().is_empty(), "help of nothing: {line:?}");
            let faults = prose::faults(&prose::of_markdown(words));
            ensure!(faults.is_empty(), "the help of {name} is not plain: {faults:?}");
            help = Some(name.to_owned());
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').with_context(read)?;
            ensure!(help.take().as_deref() == Some(name), "a type without its help: {line:?}");
            family.take().map_or(Ok(()), ExpositionFamily::end)?;
            let begun = ExpositionFamily::begin(name, kind, form).with_context(read)?;
            let is_new = page.families.insert(name.to_owned(), kind.to_owned()).is_none();
            ensure!(is_new, "a family comes twice: {line:?}");
            family = Some(begun);
        } else if line == "# EOF" && form == Form::OpenMetrics {
            ended = true;
        } else {
            ensure!(!line.starts_with('#') && !line.is_empty(), "neither: {line:?}");
            let family = family.as_mut().with_context(read)?;
            ensure!(help.is_none(), "a sample between help and type: {line:?}");
            let (series, value) = family.sample(line, form).with_context(read)?;
            ensure!(page.series.insert(series, value).is_none(), "a series comes twice: {line:?}");
        }
    }
    ensure!(ended || form == Form::Prometheus, "the mark of the end is missing");
    family.map_or(Ok(()), ExpositionFamily::end)?;
    Ok(page)
}

impl ExpositionFamily {
    fn begin(name: &str, kind: &str, form: Form) -> Result<Self> {
        ensure!(is_name(name), "{name} is no name of a metric");
        let known = match form {
            Form::Prometheus => &["counter", "gauge", "histogram"][..],
            Form::OpenMetrics => &["counter", "gauge", "histogram", "info"],
        };
        ensure!(known.contains(&kind), "{kind} is no kind of a metric");
        ensure!(
            (kind == "counter" && form == Form::Prometheus) == name.ends_with("_total"),
            "{name} of a {kind}: only counters end in _total"
        );
        let (buckets, counts) = (BTreeMap::new(), BTreeMap::new());
        Ok(ExpositionFamily { name: name.to_owned(), kind: kind.to_owned(), buckets, counts })
    }

    /// Reads a line of this family.
    fn sample(&mut self, line: &str, form: Form) -> Result<(String, f64)> {
        let (series, value) = line.rsplit_once(' ').context("no value")?;
        ensure!(!series.ends_with(' '), "two blanks");
        let value: f64 = value.parse().context("no number")?;
        let (name, labels) = match series.split_once('{') {
            Some((name, labels)) => (name, labels.strip_suffix('}').context("open labels")?),
            None => (series, ""),
        };
        ensure!(labels.is_empty() != series.contains('{'), "empty labels");
        let suffix = name.strip_prefix(self.name.as_str()).context("of another family")?;
        let labels = read_labels(labels)?;
        let allowed: &[&str] = match (self.kind.as_str(), form) {
            ("counter", Form::OpenMetrics) => &["_total"],
            ("info", _) => &["_info"],
            ("histogram", _) => &["_bucket", "_sum", "_count"],
            _ => &[""],
        };
        ensure!(allowed.contains(&suffix), "{suffix} is nothing that a {} has", self.kind);
        let only_falls = self.kind == "gauge";
        ensure!(only_falls || value >= 0.0 && value.is_finite(), "a count below nothing");
        if self.kind == "histogram" {
            self.part_of_histogram(suffix, &labels, value)?;
        } else {
            ensure!(labels.iter().all(|(key, _)| key != "le"), "le is for histograms");
        }
        Ok((series.to_owned(), value))
    }

    fn part_of_histogram(
        &mut self,
        suffix: &str,
        labels: &[(String, String)],
        value: f64,
    ) -> Result<()> {
        let others: Vec<_> = labels.iter().filter(|(key, _)| key != "le").collect();
        let key = format!("{others:?}");
        let le = labels.iter().find(|(key, _)| key == "le").map(|(_, le)| le);
        match (suffix, le) {
            ("_bucket", Some(le)) => {
                let bound = if le == "+Inf" { f64::INFINITY } else { le.parse()? };
                self.buckets.entry(key).or_default().push((bound, value));
            }
            ("_count", None) => drop(self.counts.insert(key, value)),
            ("_sum", None) => {}
            _ => bail!("{suffix} with le {le:?}"),
        }
        Ok(())
    }

    /// Checks rules that need all lines of a family.
    fn end(self) -> Result<()> {
        let name = &self.name;
        for (labels, buckets) in &self.buckets {
            let rising = buckets.is_sorted_by(|one, next| one.0 < next.0 && one.1 <= next.1);
            ensure!(rising, "the buckets of {name} do not rise: {buckets:?}");
            let last = buckets.last().context("no bucket")?;
            ensure!(last.0 == f64::INFINITY, "{name} has no bucket for everything");
            ensure!(self.counts.get(labels) == Some(&last.1), "{name} has another count");
        }
        ensure!(self.buckets.len() == self.counts.len(), "{name} has no buckets");
        Ok(())
    }
}

fn is_name(text: &str) -> bool {
    let fits = |(at, c): (usize, char)| {
        c.is_ascii_lowercase() || c == '_' || (at > 0 && c.is_ascii_digit())
    };
    !text.is_empty() && text.char_indices().all(fits)
}

/// Reads `key="value",...`.
fn read_labels(text: &str) -> Result<Vec<(String, String)>> {
    let mut labels = Vec::new();
    let mut keys = BTreeSet::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (key, behind) = rest.split_once("=\"").context("a label without a value")?;
        ensure!(is_name(key) && !key.starts_with("__"), "{key} is no name of a label");
        ensure!(keys.insert(key.to_owned()), "the label {key} comes twice");
        let mut value = String::new();
        let mut chars = behind.char_indices();
        let end = loop {
            match chars.next().context("an open label")? {
                (at, '"') => break at,
                (_, '\\') => match chars.next().context("an open label")?.1 {
                    'n' => value.push('\n'),
                    c @ ('\\' | '"') => value.push(c),
                    c => bail!("\\{c} is no escape"),
                },
                (_, c) => value.push(c),
            }
        };
        labels.push((key.to_owned(), value));
        rest = &behind[end + 1..];
        if !rest.is_empty() {
            rest = rest.strip_prefix(',').context("no comma between labels")?;
            ensure!(!rest.is_empty(), "a comma behind the last label");
        }
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HISTOGRAM: &str = "# HELP h H\n# TYPE h histogram\nh_sum 3\nh_count 2\n\
                             h_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 2\n";

    #[test]
    fn a_right_page_is_read() {
        let text = format!(
            "# HELP a_total A\n# TYPE a_total counter\na_total{{x=\"a \\\"b,\"}} 1\n\
             a_total{{x=\"c\"}} 2\n{HISTOGRAM}"
        );
        let page = read(&text, Form::Prometheus).unwrap();
        assert_eq!(page.value("a_total{x=\"c\"}"), Some(2.0));
        assert_eq!(page.sum("a_total"), 3.0);
        let open = "# HELP a A\n# TYPE a counter\na_total 1\n# EOF\n";
        assert_eq!(read(open, Form::OpenMetrics).unwrap().value("a_total"), Some(1.0));
    }

    #[test]
    fn the_parser_is_stricter_than_a_lenient_scraper() {
        let gauge = "# HELP g G\n# TYPE g gauge\n";
        for wrong in [
            "g 1\n".to_owned(),
            format!("{gauge}g 1"),
            format!("{gauge}g x\n"),
            format!("{gauge}g 1\ng 1\n"),
            format!("{gauge}other 1\n"),
            format!("{gauge}g{{}} 1\n"),
            format!("{gauge}g{{x=\"a\\q\"}} 1\n"),
            format!("{gauge}g{{x=\"a\",x=\"b\"}} 1\n"),
            format!("{gauge}g{{x=\"a\",}} 1\n"),
            format!("{gauge}g 1\n# EOF\n"),
            format!("{gauge}g 1\n{gauge}g{{x=\"1\"}} 1\n"),
            "# TYPE g gauge\ng 1\n".to_owned(),
            "# HELP g Who is told\n# TYPE g gauge\ng 1\n".to_owned(),
            "# HELP g G\n# TYPE g untyped\ng 1\n".to_owned(),
            "# HELP a A\n# TYPE a counter\na 1\n".to_owned(),
            "# HELP a_total A\n# TYPE a_total counter\na_total -1\n".to_owned(),
            HISTOGRAM.replace("+Inf\"} 2", "+Inf\"} 3"),
            HISTOGRAM.replace("le=\"1\"} 1", "le=\"1\"} 3"),
            HISTOGRAM.replace("+Inf", "2"),
        ] {
            assert!(read(&wrong, Form::Prometheus).is_err(), "{wrong}");
        }
        let unended = "# HELP a A\n# TYPE a counter\na_total 1\n";
        assert!(read(unended, Form::OpenMetrics).is_err());
    }
}
