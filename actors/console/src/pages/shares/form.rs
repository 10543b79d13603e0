//! The panel of a new link: fields, preview, QR code, command.

use maud::{Markup, html};

use super::model::NewLink;
use super::query::SharesPageQuery;
use crate::address::ROOT;
use crate::format::{day_and_time, visible_text};
use crate::parts::act::{command, command_lines};
use crate::parts::mark::Tone;
use crate::parts::notice::notice;
use crate::parts::why::side_panel;
use crate::text::{Text, common, shares};
use crate::viewer::Viewer;

/// The panel. It works as a plain form.
pub fn new_link(viewer: &Viewer, query: &SharesPageQuery, link: &NewLink) -> Markup {
    let language = viewer.language;
    let close = SharesPageQuery { new: false, path: String::new(), ..query.clone() }.address();
    let body = match &link.made {
        Some(address) => made(viewer, link, address),
        None => fields(viewer, link, &close),
    };
    side_panel(viewer, shares::NEW.of(language), &link.path, &close, body)
}

fn field(viewer: &Viewer, label: Text, name: &str, value: &str, hint: &str) -> Markup {
    html! {
        label.field {
            span { (label.of(viewer.language)) }
            input type="text" name=(name) value=(visible_text(value)) autocomplete="off";
            @if !hint.is_empty() { span.hint { (hint) } }
        }
    }
}

fn fields(viewer: &Viewer, link: &NewLink, close: &str) -> Markup {
    let language = viewer.language;
    html! {
        form method="post" action={ (ROOT) "/shares/new" } {
            section.form {
                input type="hidden" name="csrf_token" value=(viewer.csrf);
                input type="hidden" name="back" value=(close);
                @if !link.refused.is_empty() { (notice(Tone::Bad, &visible_text(&link.refused), html! {}, html! {})) }
                (field(viewer, shares::NEW_PATH, "path", &link.path, &link.found))
                (field(viewer, shares::NEW_UNTIL, "ttl", &link.ttl, shares::NEW_TTL_HINT.of(language)))
                div.cols2 {
                    (field(viewer, shares::NEW_MOST, "max_downloads", &link.most, ""))
                    (field(viewer, shares::OWNER, "owner", &link.owner, ""))
                }
                label.field {
                    span { (shares::NEW_PASSWORD.of(language)) }
                    input type="password" name="password" autocomplete="new-password";
                }
                (field(viewer, shares::NEW_NOTE, "note", &link.note, ""))
            }
            section {
                div.acts.mb {
                    button.btn.go type="submit" { (shares::CREATE.of(language)) }
                    a.btn href=(close) { (common::CANCEL.of(language)) }
                }
                (command_lines(language, &link.commands))
            }
        }
    }
}

fn made(viewer: &Viewer, link: &NewLink, address: &str) -> Markup {
    let language = viewer.language;
    let ends = link.ends.map(|at| day_and_time(viewer, at)).unwrap_or_default();
    html! {
        section {
            h3 { (shares::PREVIEW.of(language)) }
            div.preview {
                div {
                    b { bdi { (visible_text(&link.path)) } }
                    span { (shares::CREATED.fill(language, &[("at", &ends)])) }
                }
                @if let Some((path, side)) = &link.qr {
                    div.qr.sm {
                        svg viewBox={ "0 0 " (side) " " (side) } role="img" aria-label="QR" shape-rendering="crispEdges" {
                            path fill="#000" d=(path) {}
                        }
                    }
                }
            }
            div.mt { (command(language, address)) }
        }
        section { (command_lines(language, &link.commands)) }
    }
}
