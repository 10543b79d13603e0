//! A small file with one line of text, and a line with its CRC-32C.

/// The content of the file.
pub(super) fn write(line: &str) -> String {
    format!("{line}\n{:08x}\n", crc32c::crc32c(line.as_bytes()))
}

/// The line in the file. None if its checksum does not match.
pub(super) fn read(bytes: &[u8]) -> Option<&str> {
    let (line, checksum) = str::from_utf8(bytes).ok()?.split_once('\n')?;
    (checksum == format!("{:08x}\n", crc32c::crc32c(line.as_bytes()))).then_some(line)
}
