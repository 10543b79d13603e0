//! One row of the load balancer's event log: the client, the selected server and the file. Pure.
//! Unlike cfm, it uses no loose regexes and never panics.

use std::net::IpAddr;

use memchr::memmem;
use reelyard_core::clock::Millis;
use reelyard_core::names::FileName;

use crate::catalog::files::rows::RowFault;

/// The content of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventRow<'a> {
    /// A client was sent to a server.
    Selection(Selection<'a>),
    /// The load balancer did not know the file.
    NotFound,
    /// Some other event.
    Other,
}

/// A client was sent to a server for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection<'a> {
    /// The server. When it is the watched one, no destination could serve the file.
    pub server: IpAddr,
    /// When, in whole seconds.
    pub at: Millis,
    /// The file: a valid [`FileName`].
    pub name: &'a [u8],
}

/// The kind of event that is used: field 1.
const MEDIA_EVENT: &[u8] = b"0x40ffff";

/// Reads one row. Fields are separated by commas; empty ones are dropped, as in cfm.
pub fn read_event_row(row: &[u8]) -> Result<EventRow<'_>, RowFault> {
    let mut fields = row.split(|&byte| byte == b',').filter(|field| !field.is_empty());
    let mut next = || fields.next().ok_or(RowFault::TooFewFields);
    if next()? != MEDIA_EVENT {
        return Ok(EventRow::Other);
    }
    let (_level, time, text) = (next()?, next()?, next()?);
    let text = text.trim_ascii();
    if text.starts_with(b"File Not Found") {
        return Ok(EventRow::NotFound);
    }
    let Some(server) = server_selected(text) else {
        return Ok(EventRow::Other);
    };
    let time = time.trim_ascii();
    let seconds = std::str::from_utf8(time).ok().and_then(|time| time.parse().ok());
    let at = Millis::from_unix_seconds(seconds.ok_or(RowFault::UnreadableTime)?);
    let server = std::str::from_utf8(server).ok().and_then(|server| server.parse().ok());
    let server = server.ok_or(RowFault::UnreadableAddress)?;
    let name = file_named(row).ok_or(RowFault::NoFileName)?;
    FileName::check(name)?;
    Ok(EventRow::Selection(Selection { server, at, name }))
}

/// The address in `Server <address> Selected ...`.
fn server_selected(text: &[u8]) -> Option<&[u8]> {
    let rest = text.strip_prefix(b"Server ")?;
    let end = memchr::memchr(b' ', rest)?;
    rest[end..].trim_ascii_start().starts_with(b"Selected").then_some(&rest[..end])
}

/// The name in `file(<name>) Request`. A name may hold parentheses and commas, so it ends at the last
/// `) Request`. In a row without that it ends at the parenthesis that closes the first one.
fn file_named(row: &[u8]) -> Option<&[u8]> {
    const OPENING: &[u8] = b"file(";
    let rest = &row[memmem::find(row, OPENING)? + OPENING.len()..];
    let end = memmem::rfind(rest, b") Request").or_else(|| closing_parenthesis(rest))?;
    Some(&rest[..end])
}

fn closing_parenthesis(text: &[u8]) -> Option<usize> {
    let mut depth = 1_usize;
    memchr::memchr2_iter(b'(', b')', text).find(|&at| {
        if text[at] == b'(' {
            depth += 1
        } else {
            depth -= 1
        }
        depth == 0
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use reelyard_core::names::BadFileName;

    use super::*;

    fn selection(row: &[u8]) -> Selection<'_> {
        match read_event_row(row) {
            Ok(EventRow::Selection(selection)) => selection,
            other => panic!("{other:?}"),
        }
    }

    fn name_of(file: &str) -> Vec<u8> {
        let row = format!("0x40ffff,1,1527951601,Server 10.0.0.1 Selected for x, {file}");
        selection(row.as_bytes()).name.to_vec()
    }

    #[test]
    fn a_selection_names_server_time_and_file() {
        let row = b"0x40ffff,1,1527951601,Server 125.159.40.3 Selected for Client StreamID : \
            cd500575-e89e-4ec9-ad51-ac2f1038b31e, ClientID : 0, GLB IP : 125.147.36.6's \
            file(MZ3I5008SGL1500001_K20180602222428.mpg) Request";
        let selection = selection(row);
        assert_eq!(selection.server.to_string(), "125.159.40.3");
        assert_eq!(selection.at, Millis(1_527_951_601_000));
        assert_eq!(selection.name, b"MZ3I5008SGL1500001_K20180602222428.mpg");
    }

    #[test]
    fn any_name_can_be_named() {
        for name in ["a-b.mpg", "a b.mpg", "(1).mpg", "a(1).mpg", "a).mpg", "a,b.mpg", "가.mpg"] {
            assert_eq!(name_of(&format!("'s file({name}) Request")), name.as_bytes());
        }
        assert_eq!(name_of("file(x) Request) Request"), b"x) Request");
        assert_eq!(name_of("file(a(1).mpg)"), b"a(1).mpg");
    }

    #[test]
    fn other_rows_are_classified() {
        let not_found = b"0x40ffff,4,1527951601,File Not Found, UUID : 0, GLB IP : 1.2.3.4, M.mpg";
        assert_eq!(read_event_row(not_found), Ok(EventRow::NotFound));
        assert_eq!(read_event_row(b"0x10ffff,1,2,Server 1.2.3.4 Selected"), Ok(EventRow::Other));
        assert_eq!(read_event_row(b"0x40ffff,1,2,Hello,file(x) Request"), Ok(EventRow::Other));
    }

    #[test]
    fn bad_rows_name_their_fault() {
        let faults: [(&[u8], RowFault); 9] = [
            (b"0x40ffff,1", RowFault::TooFewFields),
            (b",,,,,,,", RowFault::TooFewFields),
            (b"", RowFault::TooFewFields),
            (b"0x40ffff,1,now,Server 1.2.3.4 Selected, file(x) Request", RowFault::UnreadableTime),
            (b"0x40ffff,1,2,Server 1.2.3 Selected, file(x) Request", RowFault::UnreadableAddress),
            (b"0x40ffff,1,2,Server 1.2.3.4 Selected for", RowFault::NoFileName),
            (b"0x40ffff,1,2,Server 1.2.3.4 Selected for, file(a(1).mp", RowFault::NoFileName),
            (
                b"0x40ffff,1,2,Server 1.2.3.4 Selected, file(../x) Request",
                RowFault::BadName(BadFileName::Slash),
            ),
            (
                b"0x40ffff,1,2,Server 1.2.3.4 Selected, file() Request",
                RowFault::BadName(BadFileName::Empty),
            ),
        ];
        for (row, fault) in faults {
            assert_eq!(read_event_row(row), Err(fault), "{}", row.escape_ascii());
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(
            parts in proptest::collection::vec(prop_oneof![
                Just(b"0x40ffff,".to_vec()), Just(b"1,".to_vec()), Just(b"file(".to_vec()),
                Just(b"Server 1.2.3.4 Selected".to_vec()), Just(b") Request".to_vec()),
                Just(b")".to_vec()), Just(b"(".to_vec()), Just(b"\xff".to_vec()),
                any::<u8>().prop_map(|byte| vec![byte])], 0..30),
        ) {
            let _ = read_event_row(&parts.concat());
        }

        #[test]
        fn every_name_comes_back(name in proptest::collection::vec(any::<u8>(), 1..255)) {
            prop_assume!(FileName::check(&name).is_ok() && !name.contains(&b'\n'));
            let row = [b"0x40ffff,1,7,Server ::1 Selected for, file(", &name[..], b") Request"];
            let row = row.concat();
            prop_assert_eq!(selection(&row).name, &name[..]);
        }
    }
}
