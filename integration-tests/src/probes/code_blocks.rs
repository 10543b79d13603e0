//! The code blocks of a chapter of the guide. Tests run and check them.

/// One fenced code block of a chapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeBlock<'a> {
    /// The text after its fence, such as "sh" or "toml worker".
    pub kind: &'a str,
    /// The name in the comment `<!-- walk: name -->` above the block. A test runs such a block.
    pub walk: Option<&'a str>,
    /// Its lines, without the indentation of a list.
    pub code: String,
}

/// The code blocks of a text in Markdown, from its first to its last.
pub fn code_blocks(text: &str) -> Vec<CodeBlock<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<(CodeBlock<'_>, &str)> = None;
    let mut walk = None;
    for line in text.lines() {
        let trimmed = line.trim_start();
        match (&mut open, trimmed.strip_prefix("```")) {
            (None, Some(kind)) => {
                let indent = &line[..line.len() - trimmed.len()];
                open = Some((CodeBlock { kind, walk: walk.take(), code: String::new() }, indent));
            }
            (None, None) => walk = walk_name(trimmed),
            (Some(_), Some(_)) => blocks.extend(open.take().map(|(block, _)| block)),
            (Some((block, indent)), None) => {
                block.code.push_str(line.strip_prefix(*indent).unwrap_or(line));
                block.code.push('\n');
            }
        }
    }
    blocks
}

fn walk_name(line: &str) -> Option<&str> {
    line.strip_prefix("<!-- walk: ")?.strip_suffix(" -->")
}

impl CodeBlock<'_> {
    /// Its lines without comments and blank lines. A line that ends with a backslash is joined with the next
    /// one.
    pub fn commands(&self) -> Vec<String> {
        let joined = self.code.replace("\\\n", " ");
        let lines = joined.lines().map(without_comment).map(str::trim_end);
        let lines = lines.filter(|line| !line.is_empty());
        lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }
}

/// A line up to the comment at its end. In the guide a blank precedes each comment.
fn without_comment(line: &str) -> &str {
    if line.starts_with('#') {
        return "";
    }
    line.split_once(" #").map_or(line, |(before, _)| before)
}

/// The calls of `reelyard` in a line of shell, each with its arguments. `subcommands` lists the valid
/// subcommands: the user `reelyard` and files of that name are not calls.
pub fn calls(line: &str, subcommands: &[&str]) -> Vec<Vec<String>> {
    let words = shell_words(line);
    let starts = words.windows(2).enumerate().filter(|(_, pair)| {
        pair[0] == "reelyard" && (subcommands.contains(&pair[1].as_str()) || pair[1] == "--version")
    });
    let call = |start: usize| {
        let rest = words[start..]
            .iter()
            .take_while(|word| !matches!(word.as_str(), "|" | ">" | "&" | ";"));
        rest.cloned().collect()
    };
    starts.map(|(at, _)| call(at)).collect()
}

/// The words of a line, without the quotes around them. `$(` and `)` count as blanks.
fn shell_words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    let line = line.replace("$(", " ");
    for c in line.chars() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None, ' ' | ')') => words.push(String::new()),
            (None, ';') => words.extend([";".to_owned(), String::new()]),
            (_, c) => {
                if let Some(word) = words.last_mut() {
                    word.push(c);
                }
            }
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_its_kind_its_walk_and_its_code() {
        let text = "<!-- walk: look -->\n```sh\nls  # all\n\n```\n\n1. Do:\n\n   ```toml worker\n   a = \\\n     1\n   ```\n";
        let blocks = code_blocks(text);
        assert_eq!((blocks[0].kind, blocks[0].walk), ("sh", Some("look")));
        assert_eq!(blocks[0].commands(), ["ls"]);
        assert_eq!((blocks[1].kind, blocks[1].walk), ("toml worker", None));
        assert_eq!(blocks[1].code, "a = \\\n  1\n");
        assert_eq!(blocks[1].commands(), ["a = 1"]);
    }

    #[test]
    fn calls_end_where_the_shell_ends_them() {
        let found = |line| calls(line, &["share", "box", "store"]);
        let link = found("LINK=$(reelyard share create 'a b' | head -n 1)");
        assert_eq!(link, [["reelyard", "share", "create", "a b"]]);
        let two = found("sudo -u reelyard reelyard store check; reelyard box pools &");
        assert_eq!(two, [["reelyard", "store", "check"], ["reelyard", "box", "pools"]]);
        assert_eq!(found("install -g reelyard node.toml"), Vec::<Vec<String>>::new());
    }
}
