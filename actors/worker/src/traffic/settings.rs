//! The table `[network]` of a worker.

use std::path::PathBuf;

use reelyard_core::host::BitsPerSecond;
use reelyard_core::settings;
use reelyard_core::settings::InterfaceName;

settings! {
    /// The network link that serves the files. The worker reports its load to the node, which
    /// can keep copies away from busy hosts (`[placement]` in the node's configuration).
    pub struct NetworkConfig [node] {
        /// Network interface. Without the setting, the interface that has the address of
        /// data_listen. A worker on the loopback interface then reports no load.
        interface: Option<InterfaceName> = Optional "eth0",
        /// Speed of the link in each direction. Without the setting, the speed that the kernel
        /// reports. In containers and virtual machines the kernel usually does not know it.
        link_speed: Option<BitsPerSecond> = Optional "10Gbit/s",
        /// Path of sysfs, where the kernel reports on interfaces. In a container, set the path
        /// where the host's /sys is mounted.
        sysfs: PathBuf = Default "/sys",
    }
}
