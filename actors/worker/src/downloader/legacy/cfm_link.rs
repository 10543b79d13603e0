//! The link to an old cfm. It works like that of cfw, without its defects: a failed copy is never
//! reported as done. cfm has no word for "failed", so such a task is set to `timeout`, which its table
//! allows from every state. cfm keeps it until its task time-out.

use std::time::Duration;

use reelyard_core::host::{BitsPerSecond, HostAddr};
use reelyard_core::names::FileName;
use reelyard_protocol::legacy::cfm::REELYARD_HEADER;
use reelyard_protocol::worker::{Report, ReportedState, TaskId};
use reqwest::StatusCode;
use reqwest::header::CONTENT_TYPE;
use serde::Deserialize;

use crate::downloader::copying::order::CopyOrder;
use crate::downloader::managers::node_link::{LinkError, NodeLinkShared, body_of};

/// cfw's own time-out for a call.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The needed fields of a row of `GET /tasks`.
#[derive(Debug, Deserialize)]
struct CfmOrderRow {
    id: String,
    status: String,
    src_addr: String,
    dst_addr: String,
    file_path: String,
    file_name: String,
    copy_speed: String,
}

/// Why a task cannot be done, in words.
type Unworkable = String;

/// Requests the tasks of this host: tasks that are ready, and tasks that it works on. Tasks of the
/// second kind matter after a restart: a task of an old cfw would remain `working` until cfm's time-out.
pub(in crate::downloader) async fn orders(
    line: &NodeLinkShared,
) -> Result<Vec<CopyOrder>, LinkError> {
    let call = line.http.now().get(line.url("/tasks")).timeout(TIMEOUT);
    let response = call.header(CONTENT_TYPE, "application/json").send().await?;
    ensure_is_cfm(&response)?;
    let status = response.status();
    let body = body_of(response).await?;
    if status != StatusCode::OK {
        return Err(LinkError::Status(status.as_u16(), String::new()));
    }
    let rows: Vec<serde_json::Value> =
        serde_json::from_slice(&body).map_err(|error| LinkError::Garbled(error.to_string()))?;
    line.took_orders_of(None);
    let mut orders = Vec::new();
    for row in rows {
        match order_for(row, &line.settings.host) {
            Ok(order) => orders.extend(order),
            Err((Some(task), why)) => {
                tracing::warn!(%task, why, "a task of cfm cannot be done; it is set to timeout");
                set(line, task, "timeout").await?;
            }
            Err((None, why)) => tracing::debug!(why, "a row of cfm's task list cannot be read"),
        }
    }
    Ok(orders)
}

/// Sends the reports to cfm, task by task. Answers the tasks that cfm no longer wants.
pub(in crate::downloader) async fn deliver(
    line: &NodeLinkShared,
    reports: &[Report],
) -> Result<Vec<TaskId>, LinkError> {
    let mut cancelled = Vec::new();
    for report in reports {
        let status = match report.state {
            ReportedState::Working => "working",
            ReportedState::Done { .. } | ReportedState::DoneUnverified { .. } => "done",
            ReportedState::Failed { .. } => "timeout",
            // cfm has no ear for it.
            ReportedState::Progress { .. } => continue,
        };
        if !set(line, report.task, status).await? {
            cancelled.push(report.task);
        }
    }
    Ok(cancelled)
}

/// Sets a task's status. Answers whether cfm still has that task in a state that allows it.
async fn set(line: &NodeLinkShared, task: TaskId, status: &str) -> Result<bool, LinkError> {
    let url = line.url(&format!("/tasks/{task}"));
    let call = line.http.now().patch(url).timeout(TIMEOUT).header(CONTENT_TYPE, "application/json");
    let response = call.body(format!(r#"{{"status":"{status}"}}"#)).send().await?;
    ensure_is_cfm(&response)?;
    match response.status() {
        StatusCode::OK => Ok(true),
        StatusCode::NOT_FOUND | StatusCode::CONFLICT => Ok(false),
        other => Err(LinkError::Status(other.as_u16(), String::new())),
    }
}

/// Refuses an answer of a Reelyard node. A node takes reports of its own workers only on their own
/// interface, so a report sent here would be lost.
fn ensure_is_cfm(response: &reqwest::Response) -> Result<(), LinkError> {
    match response.headers().contains_key(REELYARD_HEADER) {
        true => Err(LinkError::IsReelyard),
        false => Ok(()),
    }
}

/// The order in a row, if it belongs to this worker. The text of the row decides this, as in cfw.
fn order_for(
    row: serde_json::Value,
    us: &HostAddr,
) -> Result<Option<CopyOrder>, (Option<TaskId>, Unworkable)> {
    let row: CfmOrderRow =
        serde_json::from_value(row).map_err(|error| (None, error.to_string()))?;
    if row.dst_addr != us.to_string() || !matches!(row.status.as_str(), "ready" | "working") {
        return Ok(None);
    }
    let id = row.id.parse().map_err(|_| (None, format!("{} is not a task number", row.id)))?;
    let unworkable = |why: String| (Some(TaskId(id)), why);
    let name = FileName::new(row.file_name.as_bytes())
        .map_err(|error| unworkable(format!("\"{}\": {error}", row.file_name)))?;
    let dir = row.file_path.strip_suffix(&row.file_name).filter(|dir| dir.ends_with('/'));
    let dir = dir.ok_or_else(|| {
        unworkable(format!("{} does not end in {}", row.file_path, row.file_name))
    })?;
    let source = row
        .src_addr
        .parse()
        .map_err(|error: reelyard_core::host::BadHostAddr| unworkable(error.to_string()))?;
    Ok(Some(CopyOrder {
        id: TaskId(id),
        name,
        dir: dir.to_owned(),
        source,
        source_tls: false,
        source_data: None,
        size: None,
        copy_speed: row.copy_speed.parse().ok().filter(|&speed| speed > 0).map(BitsPerSecond),
        tickets: None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The row of cfm, with one field changed.
    fn row(field: &str, value: &str) -> serde_json::Value {
        let mut row = serde_json::json!({"id": "1795240648713846374", "ctime": 1_795_240_648,
            "mtime": 1_795_240_648, "status": "ready", "src_ip": "127.0.0.11",
            "dst_ip": "127.0.0.22", "file_path": "/data2/E.mpg", "file_name": "E.mpg", "grade": 7,
            "copy_speed": "80000000", "src_addr": "127.0.0.11:28888",
            "dst_addr": "127.0.0.22:28888"});
        row[field] = value.into();
        row
    }

    fn us() -> HostAddr {
        "127.0.0.22:28888".parse().unwrap()
    }

    #[test]
    fn a_row_of_ours_becomes_an_order() {
        let order = order_for(row("status", "ready"), &us()).unwrap().unwrap();
        assert_eq!(order.id, TaskId(1_795_240_648_713_846_374));
        assert_eq!((order.dir.as_str(), order.name.as_utf8()), ("/data2/", Some("E.mpg")));
        assert_eq!(order.copy_speed, Some(BitsPerSecond(80_000_000)));
        assert_eq!(order.source.to_string(), "127.0.0.11:28888");
        assert!(order_for(row("status", "working"), &us()).unwrap().is_some());
    }

    #[test]
    fn rows_of_others_and_ended_ones_are_left_alone() {
        for (field, value) in
            [("status", "done"), ("status", "timeout"), ("dst_addr", "127.0.0.2:28888")]
        {
            assert_eq!(order_for(row(field, value), &us()), Ok(None), "{field} {value}");
        }
    }

    #[test]
    fn a_name_that_leaves_its_directory_is_refused() {
        let mut hostile = row("file_name", "../x.mpg");
        hostile["file_path"] = "/data2/../x.mpg".into();
        let (task, why) = order_for(hostile, &us()).unwrap_err();
        assert!(task.is_some() && why.contains("leave its directory"), "{why}");
        assert!(order_for(row("file_path", "/data2/other.mpg"), &us()).is_err());
        assert!(order_for(row("src_addr", ""), &us()).is_err());
    }
}
