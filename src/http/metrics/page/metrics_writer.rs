//! Writes a metrics page. All values come from views at that moment; no state is kept between two
//! pages.

use std::fmt;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeGaugeValue, EncodeLabelSet, EncodeLabelValue, NoLabelSet, text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use reelyard_core::clock::Millis;
use reelyard_core::durations::{BOUNDS, Durations};

/// Prefix of every metric name.
const PREFIX: &str = "reelyard";

/// The labels of one series.
pub type Labels<V, const N: usize> = [(&'static str, V); N];

/// A time as Unix seconds.
pub fn seconds(at: Millis) -> f64 {
    at.0 as f64 / 1000.0
}

/// A page that is being written. Names are given without [`PREFIX`], and counters without `_total`.
pub struct MetricsWriter<'a>(DescriptorEncoder<'a>);

impl MetricsWriter<'_> {
    /// Renders the page that `write` fills, as OpenMetrics.
    pub fn page(
        write: impl Fn(&mut MetricsWriter<'_>) -> fmt::Result + Send + Sync + 'static,
    ) -> Result<String, fmt::Error> {
        let mut registry = Registry::with_prefix(PREFIX);
        registry.register_collector(Box::new(MetricsCollector(write)));
        let mut page = String::new();
        text::encode(&mut page, &registry)?;
        Ok(page)
    }

    /// A counter without labels.
    pub fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        metric.encode_counter::<NoLabelSet, _, u64>(&value, None)
    }

    /// A gauge without labels.
    pub fn gauge(&mut self, name: &str, help: &str, value: impl EncodeGaugeValue) -> fmt::Result {
        self.0.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(&value)
    }

    /// A gauge without labels that may have no value.
    pub fn maybe_gauge(
        &mut self,
        name: &str,
        help: &str,
        value: Option<impl EncodeGaugeValue>,
    ) -> fmt::Result {
        value.map_or(Ok(()), |value| self.gauge(name, help, value))
    }

    /// A counter family: one counter per set of labels.
    pub fn counters<V: EncodeLabelValue, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        series: impl IntoIterator<Item = (Labels<V, N>, u64)>,
    ) -> fmt::Result {
        let mut series = series.into_iter().peekable();
        if series.peek().is_none() {
            return Ok(());
        }
        let mut metric = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (labels, value) in series {
            metric.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&value, None)?;
        }
        Ok(())
    }

    /// A gauge family: one gauge per set of labels.
    pub fn gauges<V: EncodeLabelValue, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        series: impl IntoIterator<Item = (Labels<V, N>, impl EncodeGaugeValue)>,
    ) -> fmt::Result {
        let mut series = series.into_iter().peekable();
        if series.peek().is_none() {
            return Ok(());
        }
        let mut metric = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (labels, value) in series {
            metric.encode_family(&labels)?.encode_gauge(&value)?;
        }
        Ok(())
    }

    /// A histogram of durations.
    pub fn durations(&mut self, name: &str, help: &str, took: &Durations) -> fmt::Result {
        let sum = Duration::from_micros(took.sum_us);
        self.histogram(name, help, sum, took.count, &buckets(took))
    }

    /// A histogram family of durations: one histogram per set of labels.
    pub fn durations_of<'a, V: EncodeLabelValue, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        series: impl IntoIterator<Item = (Labels<V, N>, &'a Durations)>,
    ) -> fmt::Result {
        let mut series = series.into_iter().peekable();
        if series.peek().is_none() {
            return Ok(());
        }
        let mut metric = self.0.encode_descriptor(name, help, None, MetricType::Histogram)?;
        for (labels, took) in series {
            let sum = Duration::from_micros(took.sum_us).as_secs_f64();
            metric.encode_family(&labels)?.encode_histogram::<NoLabelSet>(
                sum,
                took.count,
                &buckets(took),
                None,
            )?;
        }
        Ok(())
    }

    /// A histogram of durations: sum and count, and the count of each bucket by its upper bound in
    /// seconds.
    pub fn histogram(
        &mut self,
        name: &str,
        help: &str,
        sum: Duration,
        count: u64,
        buckets: &[(f64, u64)],
    ) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, None, MetricType::Histogram)?;
        metric.encode_histogram::<NoLabelSet>(sum.as_secs_f64(), count, buckets, None)
    }

    /// An info metric: facts as labels.
    pub fn info(&mut self, name: &str, help: &str, labels: &impl EncodeLabelSet) -> fmt::Result {
        self.0.encode_descriptor(name, help, None, MetricType::Info)?.encode_info(labels)
    }
}

/// The count of each bucket by its upper bound in seconds.
fn buckets(took: &Durations) -> Vec<(f64, u64)> {
    let mut buckets: Vec<(f64, u64)> =
        BOUNDS.iter().copied().zip(took.buckets.iter().copied()).collect();
    let longer = took.count.saturating_sub(took.buckets.iter().sum());
    buckets.push((f64::INFINITY, longer));
    buckets
}

/// Writes the page when the registry is encoded.
struct MetricsCollector<W>(W);

impl<W> fmt::Debug for MetricsCollector<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Writing")
    }
}

impl<W: Fn(&mut MetricsWriter<'_>) -> fmt::Result + Send + Sync + 'static> Collector
    for MetricsCollector<W>
{
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        (self.0)(&mut MetricsWriter(encoder))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_every_kind_with_its_help() {
        let page = MetricsWriter::page(|sheet| {
            sheet.counter("copies", "Copies", 3)?;
            sheet.maybe_gauge("age_seconds", "Age", None::<f64>)?;
            sheet.gauges("tasks", "Tasks", [([("state", "a\"b")], 1_u64)])?;
            sheet.counters("none", "None", [([("x", "y")], 1); 0])?;
            let mut took = Durations::default();
            took.record(Duration::from_millis(300));
            took.record(Duration::from_secs(60));
            sheet.durations("round_seconds", "Rounds", &took)
        });
        let page = page.unwrap();
        let lines: Vec<&str> = page.lines().collect();
        assert_eq!(
            lines[..6],
            [
                "# HELP reelyard_copies Copies",
                "# TYPE reelyard_copies counter",
                "reelyard_copies_total 3",
                "# HELP reelyard_tasks Tasks",
                "# TYPE reelyard_tasks gauge",
                "reelyard_tasks{state=\"a\\\"b\"} 1",
            ]
        );
        assert!(lines.contains(&"reelyard_round_seconds_bucket{le=\"0.5\"} 1"), "{page}");
        assert!(lines.contains(&"reelyard_round_seconds_bucket{le=\"+Inf\"} 2"), "{page}");
        assert!(lines.contains(&"reelyard_round_seconds_sum 60.3"), "{page}");
        assert!(page.ends_with("# EOF\n") && !page.contains("none") && !page.contains("age"));
    }
}
