//! The modules of one crate, read from its source files: names that each defines, and paths that it uses.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};

use super::tokens::{
    Segments, ident, macro_arguments, path_at, production_tokens, punct, use_leaves,
};

#[derive(Default)]
pub(super) struct SourceModule {
    pub(super) file: PathBuf,
    pub(super) parent: Option<usize>,
    pub(super) children: BTreeMap<String, usize>,
    /// The names of types, functions and constants defined here.
    pub(super) items: BTreeSet<String>,
    /// The capitalised names in a macro call: types that the macro may define.
    pub(super) made_by_macros: BTreeSet<String>,
    /// The name in this module, and the path that it stands for.
    pub(super) aliases: Vec<(String, Segments)>,
    pub(super) globs: Vec<Segments>,
    /// Each path of the code, and of each `use` that is no re-export.
    pub(super) used: Vec<Segments>,
}

/// All production modules of a crate. The first is its root.
#[derive(Default)]
pub(super) struct ModuleTree {
    pub(super) modules: Vec<SourceModule>,
    /// The module that defines each macro.
    pub(super) macros: BTreeMap<String, usize>,
}

/// The definition that a path leads to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Target {
    Module(usize),
    /// An item of this module.
    Item(usize),
}

impl ModuleTree {
    pub(super) fn read(root: &Path) -> Result<Self> {
        let mut tree = Self::default();
        tree.read_file(root, None, root.parent().context("a folder")?)?;
        Ok(tree)
    }

    /// Reads a file as a module. Its child modules are below `folder`.
    fn read_file(&mut self, file: &Path, parent: Option<usize>, folder: &Path) -> Result<usize> {
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let tokens: TokenStream =
            text.parse().map_err(|err| anyhow::anyhow!("{}: {err}", file.display()))?;
        let id = self.add(file, parent);
        self.read_module(id, tokens, folder)?;
        Ok(id)
    }

    fn add(&mut self, file: &Path, parent: Option<usize>) -> usize {
        let module = SourceModule { file: file.to_owned(), parent, ..Default::default() };
        self.modules.push(module);
        self.modules.len() - 1
    }

    fn read_module(&mut self, id: usize, tokens: TokenStream, folder: &Path) -> Result<()> {
        let tokens = production_tokens(tokens);
        let mut at = 0;
        while at < tokens.len() {
            let (keyword, name) = (ident(&tokens, at), ident(&tokens, at + 1));
            match (keyword.as_deref(), name) {
                (Some("mod"), Some(name)) => {
                    let child = match tokens.get(at + 2) {
                        Some(TokenTree::Group(body)) => {
                            let child = self.add(&self.modules[id].file.clone(), Some(id));
                            self.read_module(child, body.stream(), &folder.join(&name))?;
                            child
                        }
                        _ => self.read_child_file(id, &name, folder)?,
                    };
                    self.modules[id].children.insert(name, child);
                    at += 3;
                    continue;
                }
                (Some("use"), _) => {
                    at = self.read_use(id, &tokens, at);
                    continue;
                }
                (Some("macro_rules"), _) => {
                    let name = ident(&tokens, at + 2).context("the name of a macro")?;
                    self.macros.insert(name, id);
                }
                (Some(keyword), Some(name)) if DEFINING.contains(&keyword) => {
                    self.modules[id].items.insert(name);
                }
                _ => {}
            }
            if let Some(arguments) = macro_arguments(&tokens, at) {
                for token in arguments {
                    if let TokenTree::Ident(name) = token {
                        self.modules[id].made_by_macros.insert(name.to_string());
                    }
                }
            }
            at = self.read_code(id, &tokens, at);
        }
        Ok(())
    }

    fn read_child_file(&mut self, id: usize, name: &str, folder: &Path) -> Result<usize> {
        let beside = folder.join(format!("{name}.rs"));
        let inside = folder.join(name).join("mod.rs");
        let file = if beside.exists() { beside } else { inside };
        self.read_file(&file, Some(id), &folder.join(name))
    }

    /// Reads the code at `at`: a path, a group, or one token. Returns where the next begins.
    fn read_code(&mut self, id: usize, tokens: &[TokenTree], at: usize) -> usize {
        match &tokens[at] {
            TokenTree::Group(group) => {
                let inner = production_tokens(group.stream());
                let mut next = 0;
                while next < inner.len() {
                    next = match ident(&inner, next).as_deref() {
                        Some("use") => self.read_use(id, &inner, next),
                        _ => self.read_code(id, &inner, next),
                    };
                }
                at + 1
            }
            TokenTree::Literal(text) => {
                let text = text.to_string();
                let path = text.trim_matches('"');
                let is_path = path.contains("::")
                    && path.chars().all(|c| c.is_alphanumeric() || c == '_' || c == ':');
                if is_path && text.starts_with('"') {
                    self.modules[id].used.push(path.split("::").map(str::to_owned).collect());
                }
                at + 1
            }
            TokenTree::Punct(_) => at + 1,
            TokenTree::Ident(_) => {
                let (path, next) = path_at(tokens, at);
                let before = at.checked_sub(1).map(|before| punct(tokens, before));
                let two_before = at.checked_sub(2).map(|before| punct(tokens, before));
                let is_member =
                    before == Some(Some('.')) && two_before != Some(Some('.')) && path.len() == 1;
                let is_lifetime = before == Some(Some('\''));
                let continues = before == Some(Some(':')) && two_before == Some(Some(':'));
                if !is_member && !is_lifetime && !continues {
                    self.modules[id].used.push(path);
                }
                next
            }
        }
    }

    /// Reads a `use` declaration. Returns where the next code begins.
    fn read_use(&mut self, id: usize, tokens: &[TokenTree], at: usize) -> usize {
        // `use<'a>` names captured lifetimes.
        if punct(tokens, at + 1) == Some('<') {
            return at + 1;
        }
        let end = (at..tokens.len()).find(|&end| punct(tokens, end) == Some(';'));
        let end = end.unwrap_or(tokens.len());
        let is_reexport = at > 0
            && (ident(tokens, at - 1).as_deref() == Some("pub")
                || (at > 1 && ident(tokens, at - 2).as_deref() == Some("pub")));
        let mut leaves = Vec::new();
        use_leaves(&[], &tokens[at + 1..end], &mut leaves);
        for (path, name) in leaves {
            if name == "*" {
                self.modules[id].globs.push(path);
                continue;
            }
            if !is_reexport {
                self.modules[id].used.push(path.clone());
            }
            self.modules[id].aliases.push((name, path));
        }
        end + 1
    }

    /// The definition of `path` as seen from the module `from`. Nothing if the path leaves the crate.
    pub(super) fn resolve(&self, from: usize, path: &[String]) -> Option<Target> {
        self.resolve_path(from, path, &mut Vec::new())
    }

    fn resolve_path(
        &self,
        from: usize,
        path: &[String],
        visited: &mut Vec<(usize, String)>,
    ) -> Option<Target> {
        let mut module = from;
        let mut at = 0;
        while let Some(name) = path.get(at) {
            match name.as_str() {
                "crate" => module = 0,
                "self" if at == 0 => {}
                "super" => module = self.modules[module].parent?,
                _ => break,
            }
            at += 1;
        }
        while let Some(name) = path.get(at) {
            at += 1;
            match self.lookup(module, name, at < path.len(), visited)? {
                Target::Module(child) => module = child,
                Target::Item(module) => return Some(Target::Item(module)),
            }
        }
        Some(Target::Module(module))
    }

    /// The meaning of `name` in `module`. A name before `::` is a child module first.
    fn lookup(
        &self,
        module: usize,
        name: &str,
        leads_on: bool,
        visited: &mut Vec<(usize, String)>,
    ) -> Option<Target> {
        let key = (module, name.to_owned());
        if visited.contains(&key) {
            return None;
        }
        visited.push(key);
        let found = self.lookup_unvisited(module, name, leads_on, visited);
        visited.pop();
        found
    }

    fn lookup_unvisited(
        &self,
        module: usize,
        name: &str,
        leads_on: bool,
        visited: &mut Vec<(usize, String)>,
    ) -> Option<Target> {
        let source = &self.modules[module];
        let child = source.children.get(name).map(|&child| Target::Module(child));
        if leads_on && child.is_some() {
            return child;
        }
        if source.items.contains(name) {
            return Some(Target::Item(module));
        }
        let mut modules = child;
        for (alias, path) in &source.aliases {
            if alias != name {
                continue;
            }
            match self.resolve_path(module, path, visited) {
                Some(item @ Target::Item(_)) => return Some(item),
                found => modules = modules.or(found),
            }
        }
        if modules.is_some() {
            return modules;
        }
        for path in &source.globs {
            if let Some(Target::Module(other)) = self.resolve_path(module, path, visited) {
                let found = self.lookup(other, name, leads_on, visited);
                if found.is_some() {
                    return found;
                }
            }
        }
        if source.made_by_macros.contains(name) {
            return Some(Target::Item(module));
        }
        self.macros.get(name).map(|&module| Target::Item(module))
    }
}

/// The keywords before the name of an item.
const DEFINING: [&str; 8] = ["struct", "enum", "union", "trait", "type", "fn", "const", "static"];

#[test]
fn a_path_leads_to_the_file_that_defines_its_name() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text);
    fs::create_dir(folder.path().join("inner"))?;
    write(
        "lib.rs",
        "mod inner; mod user; pub use inner::Deep as Renamed; number! { Made }\n\
         pub mod small { pub fn helper() {} }",
    )?;
    write("inner/mod.rs", "mod deep; pub use deep::*; pub use deep::helper as again;")?;
    write("inner/deep.rs", "pub struct Deep; pub fn helper() {}\n#[cfg(test)] mod tests;")?;
    write(
        "user.rs",
        "use crate::inner::{again, Deep as Alias};\n\
         #[cfg(test)] use crate::Untold;\n\
         fn f() -> super::small::X { let user = a.helper; Alias::new() }",
    )?;
    let tree = ModuleTree::read(&folder.path().join("lib.rs"))?;
    let module = |name: &str| {
        let named = |module: &SourceModule| module.file.ends_with(name);
        tree.modules.iter().position(named).context(name.to_owned())
    };
    let (user, deep, root) = (module("user.rs")?, module("deep.rs")?, module("lib.rs")?);
    let leads_to = |path: &str| {
        let path: Segments = path.split("::").map(str::to_owned).collect();
        tree.resolve(user, &path)
    };
    for path in ["crate::Renamed", "again", "Alias::new", "super::inner::Deep", "self::Alias"] {
        assert_eq!(leads_to(path), Some(Target::Item(deep)), "{path}");
    }
    assert_eq!(leads_to("crate::Made"), Some(Target::Item(root)));
    assert_eq!(leads_to("crate::inner::deep"), Some(Target::Module(deep)));
    let Some(Target::Item(small)) = leads_to("crate::small::helper") else {
        anyhow::bail!("a module within a file was not found");
    };
    assert_eq!(tree.modules[small].file, tree.modules[root].file);
    for path in ["std::fs::File", "unknown", "super::super::x"] {
        assert_eq!(leads_to(path), None, "{path}");
    }
    let used: Vec<String> = tree.modules[user].used.iter().map(|path| path.join("::")).collect();
    for path in ["crate::inner::again", "super::small::X", "Alias::new"] {
        assert!(used.iter().any(|used| used == path), "{path} is no path of {used:?}");
    }
    for other in ["helper", "crate::Untold"] {
        assert!(!used.iter().any(|used| used == other), "{other} is no path");
    }
    Ok(())
}
