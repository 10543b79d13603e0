//! Reads Rust tokens: paths, `use` declarations, and code that only tests compile.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A path of a `use` or of an expression, without the type arguments.
pub(super) type Segments = Vec<String>;

pub(super) fn ident(tokens: &[TokenTree], at: usize) -> Option<String> {
    match tokens.get(at)? {
        TokenTree::Ident(name) => Some(name.to_string()),
        _ => None,
    }
}

pub(super) fn punct(tokens: &[TokenTree], at: usize) -> Option<char> {
    match tokens.get(at)? {
        TokenTree::Punct(punct) => Some(punct.as_char()),
        _ => None,
    }
}

/// The arguments of the macro call at `at`.
pub(super) fn macro_arguments(tokens: &[TokenTree], at: usize) -> Option<TokenStream> {
    ident(tokens, at)?;
    match (punct(tokens, at + 1)?, tokens.get(at + 2)?) {
        ('!', TokenTree::Group(arguments)) => Some(arguments.stream()),
        _ => None,
    }
}

/// The path that begins at `at`, and where the code after it begins.
pub(super) fn path_at(tokens: &[TokenTree], mut at: usize) -> (Segments, usize) {
    let mut path = Vec::new();
    while let Some(name) = ident(tokens, at) {
        path.push(name);
        at += 1;
        let leads_on = punct(tokens, at) == Some(':')
            && punct(tokens, at + 1) == Some(':')
            && ident(tokens, at + 2).is_some();
        if !leads_on {
            break;
        }
        at += 2;
    }
    (path, at)
}

/// The paths of a `use` below `prefix`, each with the name that it gets.
pub(super) fn use_leaves(
    prefix: &[String],
    tokens: &[TokenTree],
    leaves: &mut Vec<(Segments, String)>,
) {
    for branch in tokens.split(|token| matches!(token, TokenTree::Punct(p) if p.as_char() == ',')) {
        let (path, at) = path_at(branch, 0);
        let mut path = [prefix, &path].concat();
        let after = branch.iter().skip(at).find(|token| !is_colon(token));
        match after {
            Some(TokenTree::Group(group)) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                use_leaves(&path, &inner, leaves);
            }
            Some(TokenTree::Punct(_)) => leaves.push((path, "*".to_owned())),
            Some(TokenTree::Ident(_)) => {
                // `as name`
                leaves.push((path, ident(branch, at + 1).unwrap_or_default()));
            }
            _ => {
                if path.last().is_some_and(|last| last == "self") {
                    path.pop();
                }
                if let Some(name) = path.last().cloned() {
                    leaves.push((path, name));
                }
            }
        }
    }
}

fn is_colon(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == ':')
}

/// The tokens without comments and without everything that only tests compile.
pub(super) fn production_tokens(tokens: TokenStream) -> Vec<TokenTree> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let attribute = match tokens.get(at + 1) {
            Some(TokenTree::Group(group)) if punct(&tokens, at) == Some('#') => Some(group),
            _ => None,
        };
        let Some(attribute) = attribute.filter(|group| group.delimiter() == Delimiter::Bracket)
        else {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        };
        let text = attribute.stream().to_string();
        at += 2;
        if text.starts_with("cfg") && text.contains("test") && !text.contains("not") {
            at = after_item(&tokens, at);
        } else if !text.starts_with("doc") {
            kept.push(TokenTree::Group(attribute.clone()));
        }
    }
    kept
}

/// Where the item, member or statement at `at` ends.
fn after_item(tokens: &[TokenTree], mut at: usize) -> usize {
    let mut is_use = false;
    while at < tokens.len() {
        is_use |= ident(tokens, at).as_deref() == Some("use");
        let ends = match &tokens[at] {
            TokenTree::Punct(punct) => punct.as_char() == ';',
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace && !is_use,
            _ => false,
        };
        at += 1;
        if ends {
            break;
        }
    }
    at
}
