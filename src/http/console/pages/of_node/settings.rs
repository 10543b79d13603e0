//! `/console/settings`: values in force, what the file would change, and the inputs.

use std::collections::HashMap;
use std::sync::LazyLock;

use actix_web::{HttpRequest, HttpResponse, web};
use reelyard_access::rights::AccessScope;
use reelyard_api::{InputState, InputView};
use reelyard_console::Moment;
use reelyard_console::frame::{NavPage, PageParts};
use reelyard_console::pages::settings::{
    self, InputCondition, InputFileLine, SettingDifference, SettingLine, SettingsPageModel,
    SettingsPageQuery, ValueOrigin,
};
use reelyard_core::settings::{DescribedSetting, Presence, TakesEffect, sections};

use crate::config::{Difference, EffectiveSetting, NodeConfig, SettingOrigin, Values};
use crate::http::api::node_calls::status::inputs;
use crate::http::console::answer;
use crate::http::console::refusal::ConsoleRefusal;
use crate::http::console::visitor::Visitor;
use crate::http::node_state::NodeHttpState;

/// The declared settings by their keys.
static DESCRIBED: LazyLock<HashMap<String, DescribedSetting>> = LazyLock::new(|| {
    let settings = sections::<NodeConfig>().into_iter().flat_map(|section| section.settings);
    settings.map(|setting| (setting.key.clone(), setting)).collect()
});

/// Instead of a value that is a secret.
const HIDDEN: &str = "***";

/// `GET /console/settings`.
pub async fn show(
    request: HttpRequest,
    state: web::Data<NodeHttpState>,
) -> Result<HttpResponse, ConsoleRefusal> {
    let visitor = Visitor::of(&request, &state, &AccessScope::ConfigRead)?;
    let query = SettingsPageQuery::parse(request.query_string());
    let model = model(&state, &query).await;
    let content = settings::render(&query, &model, &visitor.viewer);
    let title = NavPage::Settings.title().of(visitor.viewer.language);
    let parts = PageParts::new(NavPage::Settings, title, content);
    Ok(answer::page(&request, &state, &visitor, &parts))
}

async fn model(state: &web::Data<NodeHttpState>, query: &SettingsPageQuery) -> SettingsPageModel {
    let all: Vec<SettingLine> = state.reloader.running().await.iter().map(line).collect();
    let (differences, unusable) = match state.reloader.reload(true).await {
        Ok(found) => {
            let at_once = found.applied.into_iter().map(|one| difference(one, false));
            let later = found.needs_restart.into_iter().map(|one| difference(one, true));
            (at_once.chain(later).collect(), None)
        }
        Err(refused) => (Vec::new(), Some(format!("{refused:#}"))),
    };
    let catalog = state.actors.catalog_view.load();
    SettingsPageModel {
        total: all.len() as u64,
        changed: all.iter().filter(|line| is_changed(line)).count() as u64,
        settings: all.into_iter().filter(|line| is_wanted(line, query)).collect(),
        differences,
        unusable,
        inputs: inputs(&catalog).into_iter().map(input_line).collect(),
    }
}

fn line(setting: &EffectiveSetting) -> SettingLine {
    let (section, name) = setting.key.rsplit_once('.').unwrap_or(("", &setting.key));
    let described = DESCRIBED.get(&setting.key);
    let default = described.filter(|described| described.presence == Presence::Default);
    SettingLine {
        section: section.to_owned(),
        name: name.to_owned(),
        meaning: described
            .map(|described| described.doc.join(" ").trim().to_owned())
            .unwrap_or_default(),
        value: setting
            .value
            .as_ref()
            .map(|value| if setting.is_secret { HIDDEN.to_owned() } else { value.clone() }),
        is_secret: setting.is_secret,
        origin: match setting.origin {
            SettingOrigin::Default => ValueOrigin::Default,
            SettingOrigin::File { .. } => ValueOrigin::File,
            SettingOrigin::Environment { .. } => ValueOrigin::Environment,
            SettingOrigin::Argument { .. } => ValueOrigin::CommandLine,
            SettingOrigin::Record { .. } | SettingOrigin::Given { .. } => ValueOrigin::Record,
        },
        default: default.map(|described| described.value.clone()),
        needs_restart: setting.applies.effect == TakesEffect::Restart,
    }
}

fn is_changed(line: &SettingLine) -> bool {
    line.value != line.default && line.origin != ValueOrigin::Default
}

fn is_wanted(line: &SettingLine, query: &SettingsPageQuery) -> bool {
    let text = query.q.trim();
    let has_text = line.name.contains(text)
        || format!("{}.{}", line.section, line.name).contains(text)
        || (!line.is_secret && line.value.as_ref().is_some_and(|value| value.contains(text)));
    has_text && (!query.changed || is_changed(line))
}

fn difference(Difference { key, values }: Difference, needs_restart: bool) -> SettingDifference {
    let shown = |value: Option<String>| value.unwrap_or_else(|| "–".to_owned());
    let (before, after) = match values {
        Values::Plain { from, to } => (shown(from), shown(to)),
        Values::Secret => (HIDDEN.to_owned(), HIDDEN.to_owned()),
    };
    SettingDifference { setting: key, before, after, needs_restart }
}

fn input_line(input: InputView) -> InputFileLine {
    InputFileLine {
        setting: input.setting,
        path: input.path,
        condition: match input.state {
            InputState::Good => InputCondition::Good,
            InputState::Unset => InputCondition::Unset,
            InputState::Pending => InputCondition::Pending,
            InputState::Changing => InputCondition::Changing,
            InputState::Missing => InputCondition::Missing,
            InputState::Unreadable => InputCondition::Unreadable,
        },
        detail: input.detail.unwrap_or_default(),
        read: input.read.map(|at| Moment(at.0)),
        rows: input.rows,
        bad_rows: input.bad_rows,
    }
}
