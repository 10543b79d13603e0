//! Parses a stream of server-sent events (HTML standard).

/// A received server-sent event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerSentEvent {
    /// Kind of the event, from its field `event`.
    pub kind: String,
    /// Payload, usually one line of JSON.
    pub data: String,
    /// Its id, or the last id before it.
    pub id: String,
}

/// Longest accepted line in bytes; the API never sends longer ones.
const LONGEST_LINE: usize = 4 << 20;

/// The server sends something other than events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its answer is not a stream of events")]
pub struct NoEvents;

/// A parser of a stream.
#[derive(Debug, Default)]
pub struct EventStream {
    line: Vec<u8>,
    event: ServerSentEvent,
    last_id: String,
}

impl EventStream {
    /// A parser of a stream that continues after the event `id`.
    pub fn after(id: String) -> Self {
        let event = ServerSentEvent { id: id.clone(), ..ServerSentEvent::default() };
        EventStream { event, last_id: id, ..EventStream::default() }
    }

    /// Id of the last complete event; an id may also arrive alone.
    pub fn last_id(&self) -> &str {
        &self.last_id
    }

    /// Adds received bytes. Returns the events that are complete.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<ServerSentEvent>, NoEvents> {
        let mut events = Vec::new();
        for &byte in bytes {
            match byte {
                b'\n' => {
                    let line = std::mem::take(&mut self.line);
                    let line = line.strip_suffix(b"\r").unwrap_or(&line);
                    events.extend(self.take_line(&String::from_utf8_lossy(line)));
                }
                byte if self.line.len() < LONGEST_LINE => self.line.push(byte),
                _ => return Err(NoEvents),
            }
        }
        Ok(events)
    }

    /// Adds a line; an empty line ends an event.
    fn take_line(&mut self, line: &str) -> Option<ServerSentEvent> {
        let event = &mut self.event;
        if line.is_empty() {
            self.last_id.clone_from(&event.id);
            let ended = ServerSentEvent { id: event.id.clone(), ..ServerSentEvent::default() };
            let mut whole = std::mem::replace(event, ended);
            return whole.data.pop().map(|_last_line_feed| whole);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => event.kind = value.to_owned(),
            "data" => {
                event.data.push_str(value);
                event.data.push('\n');
            }
            "id" => event.id = value.to_owned(),
            // A comment or an unknown field.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, data: &str, id: &str) -> ServerSentEvent {
        ServerSentEvent { kind: kind.into(), data: data.into(), id: id.into() }
    }

    #[test]
    fn events_are_read_however_they_arrive() {
        let text = ": hello\n\nid: 1-2\nevent: task\ndata: {\"a\": 1}\n\n\
                    : still here\nid: 1-3\n\ndata:one\r\ndata: two\r\n\r\nid: 1-4\nevent: cut";
        for step in [1, 2, 7, text.len()] {
            let mut stream = EventStream::after("1-1".to_owned());
            let mut events = Vec::new();
            for chunk in text.as_bytes().chunks(step) {
                events.extend(stream.feed(chunk).unwrap());
            }
            let expected = [event("task", "{\"a\": 1}", "1-2"), event("", "one\ntwo", "1-3")];
            assert_eq!(events, expected, "{step} bytes at a time");
            assert_eq!(stream.last_id(), "1-3");
        }
    }

    #[test]
    fn a_line_without_end_is_given_up() {
        let mut stream = EventStream::default();
        assert_eq!(stream.feed(&vec![b'x'; LONGEST_LINE + 1]), Err(NoEvents));
    }
}
