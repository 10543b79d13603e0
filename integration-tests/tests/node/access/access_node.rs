//! A node with its command line, and curl.

use anyhow::{Result, ensure};
use reelyard_integration_tests::rigs::binary::{ProgramOutput, run};
use reelyard_integration_tests::rigs::yard::{ProcessYard, RoleProcess, wait_for};
use serde_json::Value;

/// A node with the command line and curl on the same host.
pub struct AccessNode {
    pub ground: ProcessYard,
    pub node: RoleProcess,
}

impl AccessNode {
    pub fn start(more: &[(&str, &str)]) -> Result<Self> {
        Self::over(ProcessYard::new(0, 0)?, more)
    }

    pub fn over(ground: ProcessYard, more: &[(&str, &str)]) -> Result<Self> {
        let node = ground.start_node(more)?;
        let yard = AccessNode { ground, node };
        yard.until_up()?;
        Ok(yard)
    }

    pub fn until_up(&self) -> Result<()> {
        wait_for("the node answers", &[&self.node], || self.ground.get("/api/v1/whoami").map(drop))
    }

    pub fn cli(&self, arguments: &[&str]) -> ProgramOutput {
        let url = format!("http://{}", self.ground.node);
        run(&[arguments, &["--url", &url]].concat())
    }

    /// The output of a command that must succeed.
    pub fn done(&self, arguments: &[&str]) -> Result<String> {
        let ended = self.cli(arguments);
        ensure!(ended.code == Some(0), "{arguments:?}: {}", ended.err);
        Ok(ended.out.trim_end().to_owned())
    }

    /// Status and body of a call with this header, or with none.
    pub fn call(
        &self,
        method: &str,
        path: &str,
        header: &str,
        body: Option<&Value>,
    ) -> (u16, Value) {
        let mut curl = std::process::Command::new("curl");
        curl.args(["-s", "-m", "20", "-w", "\n%{http_code}", "-X", method, "-H", header]);
        if let Some(body) = body {
            curl.args(["-H", "content-type: application/json", "-d", &body.to_string()]);
        }
        let output = curl.arg(format!("http://{}{path}", self.ground.node)).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let (body, status) = text.rsplit_once('\n').unwrap();
        (status.parse().unwrap(), serde_json::from_str(body).unwrap_or(Value::Null))
    }

    /// Status and detail of a call with this token.
    pub fn with(&self, token: &str, method: &str, path: &str) -> (u16, String) {
        let header = format!("Authorization: Bearer {token}");
        let (status, body) = self.call(method, path, &header, None);
        (status, body["detail"].as_str().unwrap_or_default().to_owned())
    }
}
