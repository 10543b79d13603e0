//! The boot of the machine in which a process runs. The uptime of a machine has a meaning only within one
//! boot.

use std::fmt;
use std::io;

use serde::{Deserialize, Serialize};

/// The file in which the kernel names its boot.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The id of a boot, as the kernel draws it. 16 bytes in stored forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BootId(pub [u8; 16]);

impl BootId {
    /// The current boot of this machine. Reads a small file.
    ///
    /// # Errors
    /// When the kernel does not say which boot this is.
    pub fn of_this_machine() -> io::Result<Self> {
        let text = std::fs::read_to_string(BOOT_ID)?;
        let digits: String = text.trim().chars().filter(|digit| *digit != '-').collect();
        let read = u128::from_str_radix(&digits, 16).map_err(|error| {
            let why = format!("{BOOT_ID} holds {text:?} instead of an id: {error}");
            io::Error::new(io::ErrorKind::InvalidData, why)
        });
        read.map(BootId::from)
    }
}

impl From<u128> for BootId {
    fn from(number: u128) -> Self {
        BootId(number.to_be_bytes())
    }
}

impl fmt::Display for BootId {
    /// As the kernel writes it: five groups of hex digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, byte) in self.0.iter().enumerate() {
            if matches!(place, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boot_is_written_as_the_kernel_writes_it() {
        let text = std::fs::read_to_string(BOOT_ID).unwrap();
        let boot = BootId::of_this_machine().unwrap();
        assert_eq!(boot.to_string(), text.trim());
        assert_eq!(postcard::to_stdvec(&boot).unwrap(), boot.0);
    }
}
