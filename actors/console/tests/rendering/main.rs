//! Renders sample pages in both languages, checks the documents, and writes them for pictures.

mod checks;
mod samples;
mod written;
