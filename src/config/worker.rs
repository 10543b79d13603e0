//! The settings of a worker.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use reelyard_access::secrets::{TokenHash, TokenKind};
use reelyard_core::host::HostAddr;
use reelyard_core::settings;
use reelyard_core::settings::SettingsReader;
use reelyard_core::token::SharedToken;
use reelyard_links::WorkerTlsConfig;
use reelyard_protocol::tls::AuthorityFile;
use reelyard_worker::box_host::BoxHostConfig;
use reelyard_worker::downloader::settings::{
    DiskConfig, DownloaderConfig, ExternalDownloaderConfig,
};
use reelyard_worker::traffic::settings::NetworkConfig;

use super::{LogSettings, RoleConfig};
use crate::config::values::address::NodeAddrs;
use crate::config::values::source_dirs::check_source_dirs;
use crate::config::values::token_file::resolve_token;

settings! {
    /// A Reelyard worker: one per storage host. With `source_dirs` it serves masters. With
    /// `base_dir` it fetches and serves copies. It can do both.
    pub struct WorkerConfig [node] {
        /// Address and identity of the worker. The node must know it by exactly this address.
        listen: HostAddr = Required "10.0.0.21:8888" [restart],
        /// Address where masters and copies are served. Without the setting, the port after
        /// `listen`.
        data_listen: Option<SocketAddr> = Optional "10.0.0.21:8889" [restart],
        /// Address of the node (or old cfm) that plans the copies. Required with `base_dir`. For a node
        /// with TLS it begins with `https://`. For a cluster it is a list of all nodes: the worker calls
        /// the next one if one does not answer.
        node: Option<NodeAddrs> = Optional "10.0.0.1:8080" [restart],
        /// Certificates (PEM) of the authority that signed the certificates of the node and of sources with
        /// TLS. Without the setting, the worker trusts the authorities of the system. A reload reads the
        /// file again.
        node_ca_file: Option<AuthorityFile> = Optional "/etc/reelyard/ca.crt",
        /// Directory of the copies. It must exist, so that the worker never fills the disk below an
        /// unmounted one.
        base_dir: Option<PathBuf> = Optional "/data" [restart],
        /// Absolute paths of the directories with the masters, as in the node's configuration.
        source_dirs: Vec<PathBuf> = Default "[]" [restart],
        /// Directory of the worker's state: reports that the node has not taken yet, and hashes of
        /// masters. Each worker needs its own. The worker creates it if it is missing.
        state_dir: PathBuf = Default "reelyard-worker-data" [restart],
        /// Secret that the worker shares with the node.
        token: Option<SharedToken> = Optional "a-long-random-text",
        /// File that holds the token. Use it instead of `token`. Spaces and line ends around the
        /// token are ignored.
        token_file: Option<PathBuf> = Optional "/etc/reelyard/token",
    }
    parts {
        /// The copies that it fetches.
        downloader: DownloaderConfig,
    }
    groups {
        /// Encryption.
        tls: WorkerTlsConfig,
        /// The disk of the copies.
        storage: DiskConfig,
        /// Load of the host's link.
        network: NetworkConfig,
        /// Sources that are old cfws.
        external_downloader: ExternalDownloaderConfig,
        /// Boxes that this worker hosts.
        r#box: BoxHostConfig,
        /// Logging.
        log: LogSettings,
    }
}

impl WorkerConfig {
    /// A token of a node is checked here, so that a mistyped one does not sign calls as another shared token.
    fn check_token(&self, reader: &mut SettingsReader) {
        let Some(token) = &self.token else { return };
        let (_, key) = RoleConfig::token(self);
        let text = token.reveal();
        if text.starts_with(TokenKind::General.prefix()) {
            let what = "this is a token of a person or program: create one by \"reelyard token create --worker\"";
            reader.fault(key, what);
        } else if text.starts_with(TokenKind::Worker.prefix())
            && let Err(bad) = TokenHash::of_token(text)
        {
            reader.fault(key, bad.to_string());
        }
    }

    /// The default configuration of a worker at `listen`. The worker has no work until `base_dir`
    /// or `source_dirs` is set.
    pub fn at(listen: HostAddr) -> Self {
        WorkerConfig { listen, ..WorkerConfig::default() }
    }

    /// Address of the data port.
    pub fn data_addr(&self) -> SocketAddr {
        self.data_listen.unwrap_or_else(|| {
            let mut addr = self.listen.socket();
            addr.set_port(addr.port().saturating_add(1));
            addr
        })
    }
}

impl RoleConfig for WorkerConfig {
    const NAME: &'static str = "worker";

    fn token(&self) -> (Option<&SharedToken>, &'static str) {
        let key = if self.token_file.is_some() { "token_file" } else { "token" };
        (self.token.as_ref(), key)
    }

    fn differs_unseen(&self, after: &Self) -> Vec<&'static str> {
        // Includes the contents of the named files.
        let certificate = |config: &Self| config.tls.listener.certificate().cloned();
        let differ = [
            (self.r#box.hooks != after.r#box.hooks, "box.hooks"),
            (certificate(self) != certificate(after), "tls.certificate"),
            (self.node_ca_file != after.node_ca_file, "node_ca_file"),
        ];
        differ.into_iter().filter(|(differs, _)| *differs).map(|(_, key)| key).collect()
    }

    fn not_there(&self) -> Vec<String> {
        let masters = self.source_dirs.iter();
        masters
            .filter_map(|dir| crate::config::reading::inputs::missing_dir("source_dirs", dir))
            .collect()
    }

    fn resolve(&mut self, reader: &mut SettingsReader) {
        self.token = resolve_token(self.token.take(), self.token_file.as_deref(), reader);
        self.check_token(reader);
        self.tls.resolve(reader);
        AuthorityFile::resolve(&mut self.node_ca_file, "node_ca_file", reader);
        self.r#box.resolve(reader);
        if self.base_dir.is_none() && self.source_dirs.is_empty() && self.r#box.hooks.are_none() {
            let what =
                "base_dir, source_dirs or box.hooks is required: the worker would have no work";
            reader.fault("base_dir", what);
        }
        if !self.r#box.hooks.are_none() && self.token.is_none() && !self.listen.ip().is_loopback() {
            let what = "a token is required with hooks: without it any client could run them";
            reader.fault("box.hooks", what);
        }
        if self.data_addr() == self.listen.socket() {
            // Also true if `listen` uses the last port.
            reader.fault("data_listen", "expected a port other than that of listen");
        }
        check_source_dirs(&self.source_dirs, reader);
        self.check_base_dir(reader);
        self.check_external_downloader(reader);
        if self.state_dir.exists() && !self.state_dir.is_dir() {
            reader.fault("state_dir", format!("{} is not a directory", self.state_dir.display()));
        }
    }
}

impl WorkerConfig {
    fn check_external_downloader(&self, reader: &mut SettingsReader) {
        let Some(program) = &self.external_downloader.program else { return };
        let key = "external_downloader.program";
        let shown = program.display();
        if self.base_dir.is_none() {
            reader.fault(key, "has no effect without base_dir: only a destination downloads");
        }
        if !program.is_absolute() {
            return reader.fault(key, format!("{shown} is not an absolute path"));
        }
        match std::fs::metadata(program) {
            Ok(file) if !file.is_file() => reader.fault(key, format!("{shown} is not a file")),
            Ok(file) if file.permissions().mode() & 0o111 == 0 => {
                reader.fault(key, format!("{shown} is not executable"));
            }
            Ok(_) => {}
            Err(error) => reader.fault(key, format!("{shown} cannot be used: {error}")),
        }
    }

    fn check_base_dir(&self, reader: &mut SettingsReader) {
        let Some(base_dir) = &self.base_dir else { return };
        if self.node.is_none() {
            reader.fault("node", "is required with base_dir: the node orders the copies");
        }
        let real = match base_dir.canonicalize() {
            Ok(real) if real.is_dir() => real,
            Ok(_) => {
                let what = format!("{} is not a directory", base_dir.display());
                return reader.fault("base_dir", what);
            }
            Err(error) => {
                let what = format!("{} cannot be used: {error}", base_dir.display());
                return reader.fault("base_dir", what);
            }
        };
        let is_real = |dir: &&PathBuf| dir.canonicalize().is_ok_and(|dir| dir == real);
        if let Some(dir) = self.source_dirs.iter().find(is_real) {
            let what = format!(
                "is also in source_dirs, as {}: copies would count as masters",
                dir.display()
            );
            reader.fault("base_dir", what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ConfigFaults, Layers, load as load_role};

    fn load(set: &[String]) -> Result<super::WorkerConfig, Vec<String>> {
        let layers = Layers { set: set.to_vec(), ..Layers::default() };
        load_role(&layers)
            .map(|(config, _)| config)
            .map_err(|ConfigFaults(faults)| faults.iter().map(|f| f.to_string()).collect())
    }

    #[test]
    fn the_data_port_follows_the_other() {
        let set = ["listen=10.0.0.1:8888".to_owned(), "source_dirs=/masters".to_owned()];
        assert_eq!(load(&set).unwrap().data_addr().to_string(), "10.0.0.1:8889");
        let last = ["listen=10.0.0.1:65535".to_owned(), "source_dirs=/masters".to_owned()];
        assert!(load(&last).unwrap_err()[0].contains("data_listen"));
    }

    #[test]
    fn hooks_reachable_from_other_hosts_need_a_token() {
        let shown = |listen: &str, more: &str| {
            let hooks = "box.hooks={ a = { cleanup = [\"/bin/true\"] } }".to_owned();
            load(&[format!("listen={listen}"), hooks, more.to_owned()])
        };
        let node = "node=cfm:7888";
        assert!(shown("127.0.0.1:8888", node).is_ok());
        assert!(shown("10.0.0.1:8888", "token=0123456789abcdef0123456789abcdef").is_ok());
        let faults = shown("10.0.0.1:8888", node).unwrap_err();
        assert!(faults[0].contains("a token is required"), "{faults:?}");
    }

    #[test]
    fn an_external_downloader_must_be_a_program() {
        let dir = tempfile::tempdir().unwrap();
        let plain = dir.path().join("plain");
        std::fs::write(&plain, "").unwrap();
        let message_of = |program: &str, more: &[String]| {
            let mut set = vec![
                "listen=10.0.0.1:8888".to_owned(),
                format!("base_dir={}", dir.path().display()),
                "node=cfm:7888".to_owned(),
                format!("external_downloader.program={program}"),
            ];
            set.extend(more.iter().cloned());
            load(&set)
        };
        assert!(message_of("/bin/sh", &[]).is_ok());
        let at = |name: &str| dir.path().join(name).display().to_string();
        for (program, why) in [
            ("sh".to_owned(), "not an absolute path"),
            (at("gone"), "cannot be used"),
            (at(""), "not a file"),
            (at("plain"), "not executable"),
        ] {
            let faults = message_of(&program, &[]).unwrap_err();
            assert!(faults[0].contains(why), "{program}: {faults:?}");
        }
        let bad = "external_downloader.success_pattern=(".to_owned();
        assert!(message_of("/bin/sh", &[bad]).unwrap_err()[0].contains("regular expression"));
    }

    #[test]
    fn copies_need_a_directory_that_exists_and_a_node() {
        let dir = tempfile::tempdir().unwrap();
        let base = format!("base_dir={}", dir.path().display());
        let listen = "listen=10.0.0.1:8888".to_owned();
        let node = "node=cfm:7888".to_owned();
        assert!(load(&[listen.clone(), base.clone(), node.clone()]).is_ok());
        let error = load(&[listen.clone(), base.clone()]).unwrap_err();
        assert!(error[0].starts_with("node: is required"), "{error:?}");
        let error = load(&[listen.clone(), format!("{base}/gone"), node.clone()]).unwrap_err();
        assert!(error[0].contains("cannot be used"), "{error:?}");
        let same = format!("source_dirs={}", dir.path().display());
        let error = load(&[listen, base, node, same]).unwrap_err();
        assert!(error[0].contains("copies would count as masters"), "{error:?}");
    }
}
