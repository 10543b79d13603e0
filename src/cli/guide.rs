//! `reelyard guide`

use std::io::Write;

use clap::Args;

use crate::cli::support::failure::CommandFailure;
use crate::guide::{self, CHAPTERS, Chapter, GuideLanguage, UnknownTopic};

#[derive(Debug, Args)]
pub struct GuideArgs {
    /// The chapter to print. Without one, the list of the chapters
    topic: Option<String>,
    /// Print the lines that contain this word, each with its chapter and its heading. With a topic,
    /// search only that chapter
    #[arg(long, value_name = "WORD")]
    search: Option<String>,
    /// The language. A chapter without a Korean text is printed in English
    #[arg(long, value_enum, default_value_t)]
    lang: GuideLanguage,
}

/// Prints a chapter, the list of chapters, or the lines with a word.
pub fn run(args: GuideArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let chapter = args.topic.as_deref().map(guide::chapter).transpose()?;
    match (args.search, chapter) {
        (Some(word), Some(chapter)) => search(&[*chapter], &word, args.lang, out),
        (Some(word), None) => search(&CHAPTERS, &word, args.lang, out),
        (None, Some(chapter)) => Ok(out.write_all(chapter.printed(args.lang).as_bytes())?),
        (None, None) => list(args.lang, out),
    }
}

fn list(language: GuideLanguage, out: &mut dyn Write) -> Result<(), CommandFailure> {
    for chapter in &CHAPTERS {
        writeln!(out, "{:<16} {}", chapter.topic, chapter.title(language))?;
    }
    Ok(writeln!(out, "\nreelyard guide TOPIC prints a chapter; --search WORD finds a word.")?)
}

fn search(
    chapters: &[Chapter],
    word: &str,
    language: GuideLanguage,
    out: &mut dyn Write,
) -> Result<(), CommandFailure> {
    let found = guide::search(chapters, word, language);
    if found.is_empty() {
        return Err(CommandFailure::Failed(anyhow::anyhow!(
            "the guide does not contain \"{word}\": try a shorter word, or \"reelyard guide glossary\""
        )));
    }
    for passage in found {
        writeln!(out, "{}: {}: {}", passage.topic, passage.heading, passage.line)?;
    }
    Ok(())
}

impl From<UnknownTopic> for CommandFailure {
    fn from(unknown: UnknownTopic) -> Self {
        CommandFailure::Usage(unknown.to_string())
    }
}
