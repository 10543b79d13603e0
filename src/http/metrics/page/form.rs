//! Formats of a metrics page: OpenMetrics for clients that accept it, such as Prometheus, and the
//! older text format of Prometheus for others.

/// Content type of OpenMetrics.
pub const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Content type of the Prometheus text format.
pub const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Whether an `Accept` header includes OpenMetrics.
pub fn wants_open_metrics(accept: &str) -> bool {
    accept.split(',').any(|one| one.trim_start().starts_with("application/openmetrics-text"))
}

/// Converts an OpenMetrics page into the Prometheus text format. There a family of counters has the
/// suffix `_total`, infos are gauges, and the text has no end mark.
pub fn as_prometheus(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len() + open_metrics.len() / 16);
    // The help of a family comes before its type, which decides the name.
    let mut help = None;
    for line in open_metrics.lines() {
        if let Some(of) = line.strip_prefix("# HELP ") {
            help = of.split_once(' ');
        } else if let Some((name, kind)) =
            line.strip_prefix("# TYPE ").and_then(|of| of.split_once(' '))
        {
            let (suffix, kind) = match kind {
                "counter" => ("_total", "counter"),
                "info" => ("_info", "gauge"),
                other => ("", other),
            };
            if let Some((_, help)) = help.take() {
                text.push_str(&format!("# HELP {name}{suffix} {help}\n"));
            }
            text.push_str(&format!("# TYPE {name}{suffix} {kind}\n"));
        } else if line != "# EOF" {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openmetrics_is_sent_on_request() {
        let prometheus = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
                          text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assert!(wants_open_metrics(prometheus));
        assert!(wants_open_metrics("text/plain;q=0.5, application/openmetrics-text"));
        assert!(!wants_open_metrics("*/*") && !wants_open_metrics(""));
    }

    #[test]
    fn prometheus_text_names_families_as_their_samples() {
        let open_metrics = "# HELP a_b Help me\n# TYPE a_b counter\na_b_total{x=\"# EOF\"} 1\n\
                            # HELP c C\n# TYPE c info\nc_info{v=\"1\"} 1\n\
                            # HELP d D\n# TYPE d gauge\nd 2\n# EOF\n";
        let text = "# HELP a_b_total Help me\n# TYPE a_b_total counter\na_b_total{x=\"# EOF\"} 1\n\
                    # HELP c_info C\n# TYPE c_info gauge\nc_info{v=\"1\"} 1\n\
                    # HELP d D\n# TYPE d gauge\nd 2\n";
        assert_eq!(as_prometheus(open_metrics), text);
    }
}
