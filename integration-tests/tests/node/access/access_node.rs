//! A node with its command line.

use anyhow::{Result, ensure};
use reelyard_integration_tests::rigs::binary::{ProgramOutput, run};
use reelyard_integration_tests::rigs::plain_request::send;
use reelyard_integration_tests::rigs::yard::{ProcessYard, RoleProcess, wait_for};
use serde_json::Value;

/// A node with the command line on the same host.
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
        let body = body.map(Value::to_string).unwrap_or_default();
        let answer = send(self.ground.node, (method, path), header, &body).unwrap_or_default();
        (answer.status, serde_json::from_str(&answer.body).unwrap_or(Value::Null))
    }

    /// Status and detail of a call with this token.
    pub fn with(&self, token: &str, method: &str, path: &str) -> (u16, String) {
        let header = format!("Authorization: Bearer {token}");
        let (status, body) = self.call(method, path, &header, None);
        (status, body["detail"].as_str().unwrap_or_default().to_owned())
    }
}
