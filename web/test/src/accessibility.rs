//! Accessibility checks: contrast by the computed styles, and names by the accessibility tree.

use std::fs;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::fixture::Fixture;
use crate::page::Page;

/// Light and dark, on a desktop and on the smallest phone.
const SHOWN: [(&str, [u32; 2]); 4] =
    [("light", [1280, 900]), ("dark", [1280, 900]), ("light", [360, 740]), ("dark", [360, 740])];

/// Roles that need a name for screen readers.
const NAMED: [&str; 19] = [
    "button",
    "checkbox",
    "combobox",
    "dialog",
    "img",
    "image",
    "link",
    "listbox",
    "menuitem",
    "option",
    "radio",
    "radiogroup",
    "searchbox",
    "slider",
    "spinbutton",
    "switch",
    "tab",
    "textbox",
    "treeitem",
];

/// Chromium's id for the movable part of a slider.
const THUMB: &str = "thumb";

/// Checks a page in light and dark, wide and narrow.
pub(crate) fn check(fixture: &Fixture<'_>, page: &Page<'_>) -> Result<()> {
    let mut failures = Vec::new();
    for (scheme, size) in SHOWN {
        page.emulate(scheme, size)?;
        let found = failures_of(fixture, page)?;
        failures.extend(found.into_iter().map(|failure| format!("{scheme}, {} px wide: {failure}", size[0])));
    }
    page.emulate(SHOWN[0].0, SHOWN[0].1)?;
    if !failures.is_empty() {
        bail!("accessibility problems:\n{}", failures.join("\n"));
    }
    Ok(())
}

/// Returns the problems of a page as it is shown now.
pub(crate) fn failures_of(fixture: &Fixture<'_>, page: &Page<'_>) -> Result<Vec<String>> {
    let script = fs::read_to_string(fixture.harness.root.join("web/test/accessibility.js"))?;
    let parts = thumbs(page)?;
    let found = page.call_function(
        &format!("(...parts) => ({script})(Object.values(Object.groupBy(parts, (_, place) => place >> 1)))"),
        &parts,
    )?;
    let found = found.as_array().context("the contrast check returned no list")?;
    let mut failures: Vec<String> = found.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    page.call("Accessibility.enable", json!({}))?;
    let tree = page.call("Accessibility.getFullAXTree", json!({}))?;
    page.call("Accessibility.disable", json!({}))?;
    let nodes = tree["nodes"].as_array().context("the page has no accessibility tree")?;
    failures.extend(nodes.iter().filter_map(nameless));
    Ok(failures)
}

/// Returns every slider followed by its thumb, which only the browser knows.
fn thumbs(page: &Page<'_>) -> Result<Vec<String>> {
    let tree = page.call("DOM.getDocument", json!({ "depth": -1, "pierce": true }))?;
    let mut pairs = Vec::new();
    gather_thumbs(&tree["root"], None, &mut pairs);
    let mut handles = Vec::new();
    for node in pairs.into_iter().flatten() {
        let handle = page.call("DOM.resolveNode", json!({ "backendNodeId": node }))?;
        handles.push(handle["object"]["objectId"].as_str().context("a node has no object")?.to_owned());
    }
    Ok(handles)
}

/// Collects the thumbs at and below a node, which may be inside a slider.
fn gather_thumbs(node: &Value, slider: Option<&Value>, pairs: &mut Vec<[Value; 2]>) {
    let attributes = node["attributes"].as_array().map_or(&[] as &[Value], Vec::as_slice);
    let has = |name: &str, value: &str| attributes.chunks(2).any(|pair| pair[0] == name && pair[1] == value);
    let is_slider = node["localName"] == "input" && has("type", "range");
    let slider = if is_slider { Some(&node["backendNodeId"]) } else { slider };
    if let Some(slider) = slider
        && has("id", THUMB)
    {
        pairs.push([slider.clone(), node["backendNodeId"].clone()]);
    }
    for below in ["shadowRoots", "children"] {
        node[below].as_array().into_iter().flatten().for_each(|child| gather_thumbs(child, slider, pairs));
    }
}

/// Describes a node that should have a name and has none.
fn nameless(node: &Value) -> Option<String> {
    let role = node["role"]["value"].as_str()?;
    let name = node["name"]["value"].as_str().unwrap_or_default();
    let is_named = !name.trim().is_empty();
    let should_be = node["ignored"] == false && NAMED.contains(&role);
    (should_be && !is_named).then(|| {
        let description = node["description"]["value"].as_str().unwrap_or_default();
        format!("a {role} has no name for screen readers {description}").trim_end().to_owned()
    })
}
