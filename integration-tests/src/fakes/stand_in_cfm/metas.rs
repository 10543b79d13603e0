//! grade.info and hitcount.history as cfm reads them.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use super::CfmSettings;

/// The data of cfm for one file.
#[derive(Clone, Debug)]
pub struct CfmFileMeta {
    /// Line in grade.info, 1 = best.
    pub grade: i32,
    /// Size in bytes; -1 when unknown.
    pub size: i64,
    /// The number of entries in the history for each destination IP.
    pub servers: HashMap<IpAddr, u32>,
}

impl CfmFileMeta {
    /// `serverCount`: the sum of all entries in `servers`.
    pub fn server_count(&self) -> u32 {
        self.servers.values().sum()
    }

    /// Removes one entry of this server.
    pub fn left(&mut self, server: IpAddr) {
        if let Some(times) = self.servers.get_mut(&server) {
            *times = times.saturating_sub(1);
        }
    }
}

/// The files by name; `None` while grade.info cannot be read.
pub type Metas = HashMap<String, CfmFileMeta>;

/// Reads both input files. `None` when grade.info cannot be read.
pub fn read(settings: &CfmSettings) -> Option<Metas> {
    let grades = std::fs::read_to_string(&settings.grade_info_file).ok()?;
    let history = std::fs::read_to_string(&settings.hitcount_history_file).ok()?;
    let mut metas = Metas::new();
    for (name, grade) in grades.lines().skip(1).filter(|line| !line.is_empty()).zip(1..) {
        let name = name.split('\t').next().unwrap_or_default();
        metas.insert(name.to_owned(), CfmFileMeta { grade, size: -1, servers: HashMap::new() });
    }
    let destinations: Vec<IpAddr> = settings.destinations.iter().map(SocketAddr::ip).collect();
    for line in history.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [name, _, _, size, servers, ..] = fields.as_slice() else { continue };
        let Some(meta) = metas.get_mut(*name) else { continue };
        meta.size = size.parse().unwrap_or(0);
        for server in servers.split(' ').filter_map(|server| server.parse().ok()) {
            if destinations.contains(&server) {
                *meta.servers.entry(server).or_default() += 1;
            }
        }
    }
    Some(metas)
}
