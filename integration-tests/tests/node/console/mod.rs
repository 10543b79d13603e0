//! The console of a real node: its pages, its actions, and its live parts.

mod actions;
mod bare_node;
mod browser;
mod choosing;
mod commands;
mod console_yard;
mod further_pages;
mod pages;
mod settings_page;
mod shown_lines;
