// The API page: lists tools and routes, shows schemas, runs a tool. Everything shown is set as text, never as HTML.

import { follow, sample, typeName } from "./schema.js";
import { TEXTS } from "./texts.js";

const BUSY = new Set(["queued", "starting", "draining", "stopping"]);
const MAGIC = [["iVBORw0KGgo", "image/png"], ["/9j/", "image/jpeg"], ["R0lGOD", "image/gif"], ["UklGR", "image/webp"]];
const REFRESH = 5000;

const state = { language: initialLanguage(), listing: null, openapi: null, drafts: new Map(), etag: null };
const byId = (id) => document.getElementById(id);
const text = (key, ...values) => {
  const value = TEXTS[state.language][key];
  return typeof value === "function" ? value(...values) : value;
};

function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "class") element.className = value;
    else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key in element && key !== "list") element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/* language and theme */

function initialLanguage() {
  const kept = recall("language");
  return kept in TEXTS ? kept : navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

function recall(key) {
  try { return localStorage.getItem(`toolcrib.${key}`); } catch { return null; }
}

function remember(key, value) {
  try { localStorage.setItem(`toolcrib.${key}`, value); } catch { /* private windows may refuse */ }
}

function speak() {
  document.documentElement.lang = state.language === "zh" ? "zh-CN" : "en";
  for (const element of document.querySelectorAll("[data-text]")) element.textContent = text(element.dataset.text);
  byId("search").placeholder = `${text("search")}  /`;
  byId("language").textContent = text("otherLanguage");
  byId("theme").textContent = text(isDark() ? "light" : "dark");
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/* the service */

async function load() {
  const headers = state.etag ? { "If-None-Match": state.etag } : {};
  const answer = await fetch(`/tools?lang=${state.language}`, { headers, cache: "no-store" });
  if (answer.status === 304) return false;
  if (!answer.ok) throw new Error(answer.statusText);
  state.listing = await answer.json();
  state.etag = answer.headers.get("ETag");
  return true;
}

async function loadRoutes() {
  state.openapi = await (await fetch(`/openapi.json?lang=${state.language}`)).json();
}

async function showFacts() {
  const line = byId("facts");
  try {
    const facts = await (await fetch("/health/ready", { cache: "no-store" })).json();
    const problems = facts.problems.length;
    line.textContent = problems ? `${text("ready", facts)} · ${text("problems", problems)}` : text("ready", facts);
    line.title = facts.problems.map((problem) => problem.error).join("\n");
    line.classList.toggle("bad", problems > 0);
  } catch {
    line.textContent = text("unreachable");
    line.classList.add("bad");
  }
}

/* the lists */

function dot(tool) {
  const kind = tool.lifecycle === "failed" ? "failed" : BUSY.has(tool.lifecycle) ? "busy" : tool.state;
  return make("span", { class: `dot ${kind}`, role: "img", "aria-label": text(tool.state), title: tool.lifecycle });
}

function showTools() {
  const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const all = state.listing.tools;
  const shown = all.filter((tool) => {
    const where = [tool.tool_id, tool.name, tool.description, tool.category, ...tool.examples].join("\n").toLowerCase();
    return words.every((word) => where.includes(word));
  });
  byId("count").textContent = shown.length === all.length ? `${all.length}` : `${shown.length} / ${all.length}`;
  const current = selected();
  byId("tools").replaceChildren(...shown.map((tool) => make("li", {},
    make("a", { href: `#/tool/${encodeURIComponent(tool.tool_id)}`, "aria-current": tool.tool_id === current.tool ? "page" : null },
      dot(tool),
      make("span", { class: "title" }, tool.emoji ? `${tool.emoji} ` : "", tool.name),
      make("span", { class: "where" }, tool.backend_runtime),
      make("code", { class: "below" }, tool.tool_id)))));
  if (!shown.length) byId("tools").append(make("li", { class: "hint" }, text(all.length ? "noTools" : "none")));
}

function showRoutes() {
  const current = selected();
  const rows = [];
  for (const [path, operations] of Object.entries(state.openapi.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      if (!operation.tags.includes("service")) continue;
      const here = current.route === `${method} ${path}`;
      rows.push(make("li", {}, make("a", {
        href: `#/route/${encodeURIComponent(`${method} ${path}`)}`, title: operation.summary, "aria-current": here ? "page" : null,
      }, make("span", { class: "method" }, method.toUpperCase()), make("code", {}, path))));
    }
  }
  byId("routes").replaceChildren(...rows);
}

/* what is selected */

function selected() {
  const [, kind, name] = location.hash.match(/^#\/(tool|route)\/(.+)$/) ?? [];
  try {
    return kind ? { [kind]: decodeURIComponent(name) } : { tool: state.listing?.tools[0]?.tool_id };
  } catch {
    return {};
  }
}

function show() {
  const { tool, route } = selected();
  const main = byId("main");
  showTools();
  showRoutes();
  if (route) {
    main.replaceChildren(...routePage(route));
  } else {
    const item = state.listing.tools.find((candidate) => candidate.tool_id === tool);
    main.replaceChildren(...(item ? toolPage(item) : [make("p", { class: "hint" }, text(tool ? "gone" : "none"))]));
  }
  main.scrollTop = 0;
}

function toolPage(tool) {
  return [
    make("div", { id: "head", "data-tool": tool.tool_id }, ...toolHead(tool)),
    tryIt(tool),
    parameters(tool),
    tool.backend_runtime === "local" || tool.backend_runtime === "docker" ? logs(tool) : null,
  ].filter(Boolean);
}

function toolHead(tool) {
  const startable = tool.backend_runtime === "local" || tool.backend_runtime === "docker";
  const change = (what) => async (event) => {
    const button = event.target;
    button.disabled = true;
    const answer = await fetch(`/tools/${encodeURIComponent(tool.tool_id)}/${what}`, { method: "POST" });
    const body = await answer.json();
    await refresh();
    button.disabled = false;
    document.querySelector("#head [role=alert]")?.remove();
    if (body.status === "error") byId("head").append(make("p", { class: "reason", role: "alert" }, body.error));
  };
  return [
    make("div", { class: "head" },
      tool.emoji ? make("span", { class: "emoji", "aria-hidden": "true" }, tool.emoji) : null,
      make("div", {}, make("h1", {}, tool.name), make("code", { class: "id" }, tool.tool_id)),
      startable && tool.state === "stopped" ? make("button", { type: "button", onclick: change("start") }, text("start")) : null,
      startable && tool.state === "running" ? make("button", { type: "button", onclick: change("stop") }, text("stop")) : null),
    make("p", { class: "description" }, tool.description),
    make("div", { class: "chips" },
      make("span", { class: "chip" }, dot(tool), text(tool.state), tool.port ? ` :${tool.port}` : ""),
      make("span", { class: "chip" }, tool.backend_runtime),
      make("span", { class: "chip" }, tool.category),
      tool.effects ? make("span", { class: "chip" }, `${text("effects")}: ${tool.effects}`) : null,
      tool.risk === "low" ? null : make("span", { class: "chip warm" }, `${text("risk")}: ${tool.risk}`),
      make("span", { class: "chip" }, text("timeout", tool.timeout))),
    tool.lifecycle_reason ? make("p", { class: "reason" }, tool.lifecycle_reason) : null,
    tool.examples.length ? make("ul", { class: "sentences" }, ...tool.examples.map((line) => make("li", {}, `“${line}”`))) : null,
  ].filter(Boolean);
}

function tryIt(tool) {
  const draft = state.drafts.get(tool.tool_id) ?? JSON.stringify(sample(tool.input_schema), null, 2);
  const area = make("textarea", {
    id: "params", value: draft, spellcheck: false, autocapitalize: "off", "aria-describedby": "complaint",
    oninput: () => { state.drafts.set(tool.tool_id, area.value); complain(""); },
    onkeydown: (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); form.requestSubmit(); } },
  });
  const complaint = make("p", { class: "hint bad", id: "complaint", role: "alert" });
  const run = make("button", { type: "submit", class: "main" }, text("run"));
  const cancel = make("button", { type: "button", hidden: true }, text("cancel"));
  const progress = make("span", { class: "hint", role: "status" });
  const answer = make("div", { "aria-live": "polite" });
  const complain = (message) => { complaint.textContent = message; area.setAttribute("aria-invalid", String(Boolean(message))); };
  const read = () => {
    try {
      const value = JSON.parse(area.value);
      if (value === null || typeof value !== "object" || Array.isArray(value)) { complain(text("notObject")); return null; }
      return value;
    } catch (error) {
      complain(text("notJson") + error.message);
      return null;
    }
  };
  const form = make("form", {
    onsubmit: async (event) => {
      event.preventDefault();
      const params = read();
      if (!params || run.disabled) return;
      const stop = new AbortController();
      const began = performance.now();
      const tick = setInterval(() => { progress.textContent = text("working", Math.floor((performance.now() - began) / 1000)); }, 500);
      run.disabled = true;
      cancel.hidden = false;
      cancel.onclick = () => stop.abort();
      answer.replaceChildren();
      try {
        const response = await fetch("/run_tool", {
          method: "POST", signal: stop.signal, headers: { "Content-Type": "application/json" },
          body: JSON.stringify({ tool_id: tool.tool_id, params }),
        });
        const body = await response.json();
        answer.replaceChildren(...outcome(body, response.status, performance.now() - began));
        progress.textContent = "";
      } catch (error) {
        progress.textContent = error.name === "AbortError" ? text("cancelled") : text("unreachable");
      } finally {
        clearInterval(tick);
        run.disabled = false;
        cancel.hidden = true;
        refresh();
      }
    },
  },
  make("label", { class: "visually-hidden", htmlFor: "params" }, text("json")), area, complaint);
  form.append(make("div", { class: "line spread" },
    make("div", { class: "line" }, run, cancel, make("span", { class: "hint" }, make("kbd", {}, "Ctrl"), " ", make("kbd", {}, "Enter"), " "), progress),
    make("div", { class: "line" }, fileButton(area, complain), copyButton(tool, area))));
  return make("section", {}, make("h2", {}, text("tryIt")), form, answer);
}

function fileButton(area, complain) {
  const label = make("span", {}, text("addFile"));
  const input = make("input", {
    type: "file", class: "visually-hidden",
    onchange: async () => {
      const [file] = input.files;
      if (!file) return;
      label.textContent = text("uploading");
      try {
        const response = await fetch(`/artifacts?name=${encodeURIComponent(file.name)}`, {
          method: "POST", body: file, headers: { "Content-Type": file.type || "application/octet-stream" },
        });
        const artifact = await response.json();
        if (!response.ok) throw new Error(artifact.error);
        area.focus();
        area.setRangeText(JSON.stringify(artifact.reference), area.selectionStart, area.selectionEnd, "end");
        area.dispatchEvent(new Event("input"));
      } catch (error) {
        complain(error.message);
      }
      label.textContent = text("addFile");
      input.value = "";
    },
  });
  return make("label", { class: "file" }, label, input);
}

function copyButton(tool, area) {
  const button = make("button", {
    type: "button", class: "quiet",
    onclick: async () => {
      const body = JSON.stringify({ tool_id: tool.tool_id, params: parsed(area.value) }).replaceAll("'", "'\\''");
      await navigator.clipboard.writeText(
        `curl -X POST ${location.origin}/run_tool -H 'Content-Type: application/json' -d '${body}'`);
      button.textContent = text("copied");
      setTimeout(() => { button.textContent = text("copy"); }, 1500);
    },
  }, text("copy"));
  return button;
}

function parsed(json) {
  try { return JSON.parse(json); } catch { return {}; }
}

function outcome(body, status, milliseconds) {
  const good = body.status === "success";
  const parts = [make("div", { class: "line" },
    make("span", { class: `outcome ${good ? "good" : "bad"}` }, text(good ? "success" : "failed")),
    make("span", { class: "hint" }, `HTTP ${status} · ${Math.round(milliseconds)} ms`))];
  if (!good) {
    parts.push(make("p", { class: "reason" }, body.error ?? JSON.stringify(body)));
    if (body.hint) parts.push(make("p", { class: "hint" }, text("hint"), body.hint));
  }
  const pictures = [...findPictures(body.result)];
  if (pictures.length) parts.push(make("div", { class: "pictures" }, ...pictures.map(picture)));
  parts.push(make("pre", { tabIndex: 0 }, JSON.stringify(body, shorten, 2)));
  return parts;
}

function* findPictures(value, name = "") {
  if (typeof value === "string") {
    const data = value.startsWith("data:image/") ? value : null;
    const [, kind] = MAGIC.find(([magic]) => value.startsWith(magic)) ?? [];
    if (data) yield [name, data];
    else if (kind && value.length > 60) yield [name, `data:${kind};base64,${value}`];
  } else if (value && typeof value === "object") {
    if (typeof value.url === "string" && value.url.startsWith("/artifacts/") && String(value.mime_type).startsWith("image/")) {
      yield [value.name, value.url];
      return;
    }
    for (const [key, item] of Object.entries(value)) yield* findPictures(item, name ? `${name}.${key}` : key);
  }
}

function picture([name, source]) {
  const caption = make("figcaption", {}, name);
  const image = make("img", { alt: name, src: source, onload: () => {
    caption.textContent = `${name} · ${text("picture", image.naturalWidth, image.naturalHeight)}`;
  } });
  return make("figure", {}, image, caption);
}

function shorten(key, value) {
  return typeof value === "string" && value.length > 600 ? value.slice(0, 80) + text("characters", value.length) : value;
}

/* schemas */

function parameters(tool) {
  const schema = tool.input_schema;
  const required = new Set(schema.required ?? []);
  const rows = Object.entries(schema.properties ?? {}).map(([name, raw]) => {
    const part = follow(raw, schema);
    return make("tr", {},
      make("td", {}, make("code", {}, name), required.has(name) ? make("div", { class: "hint" }, text("required")) : null),
      make("td", { class: "mono" }, typeName(part, schema)),
      make("td", {}, part.description ?? "", "default" in part ? make("div", { class: "hint mono" }, `= ${JSON.stringify(part.default)}`) : null));
  });
  const table = make("div", { class: "wide" }, make("table", {},
    make("thead", {}, make("tr", {}, ...["name", "type", "description"].map((key) => make("th", { scope: "col" }, text(key))))),
    make("tbody", {}, ...rows)));
  return make("section", {},
    make("h2", {}, text("params")),
    rows.length ? table : make("p", { class: "hint" }, text("noParams")),
    fold(text("input"), schema),
    tool.output_schema ? fold(text("output"), tool.output_schema) : null,
    tool.command ? make("details", {}, make("summary", {}, text("byHand")), make("pre", { tabIndex: 0 }, tool.command)) : null);
}

function fold(title, value) {
  return make("details", {}, make("summary", {}, title), make("pre", { tabIndex: 0 }, JSON.stringify(value, null, 2)));
}

/* logs and routes */

function logs(tool) {
  const lines = make("pre", { tabIndex: 0, hidden: true });
  const button = make("button", {
    type: "button",
    onclick: async () => {
      const body = await (await fetch(`/tools/${encodeURIComponent(tool.tool_id)}/logs?lines=200`)).json();
      lines.textContent = body.lines ? body.lines.join("\n") || "—" : body.error;
      lines.hidden = false;
      lines.scrollTop = lines.scrollHeight;
    },
  }, text("showLog"));
  return make("section", {}, make("h2", {}, text("log")), button, lines);
}

function routePage(route) {
  const [method, path] = route.split(/ (.*)/);
  const operation = state.openapi.paths[path]?.[method];
  if (!operation) return [make("p", { class: "hint" }, text("gone"))];
  const link = method === "get" && !path.includes("{") ? make("p", {}, make("a", { href: path }, path)) : null;
  return [
    make("h1", {}, operation.summary),
    make("p", { class: "id mono" }, `${method.toUpperCase()} ${path}`),
    link,
    make("section", {}, make("h2", {}, text("details")), make("pre", { tabIndex: 0 }, JSON.stringify(operation, null, 2))),
  ].filter(Boolean);
}

/* start */

async function refresh() {
  try {
    if (!(await load())) return;
    showTools();
    const head = byId("head");
    const tool = head && state.listing.tools.find((item) => item.tool_id === head.dataset.tool);
    if (tool) {
      const focused = head.contains(document.activeElement);
      head.replaceChildren(...toolHead(tool));
      if (focused) head.querySelector("button")?.focus();
    }
    await loadRoutes();
    showRoutes();
  } catch { /* showFacts says it */ }
  showFacts();
}

async function begin() {
  speak();
  try {
    await Promise.all([load(), loadRoutes()]);
    show();
  } catch {
    byId("main").replaceChildren(make("p", { class: "hint bad" }, text("unreachable")));
  }
  showFacts();
}

const theme = recall("theme");
if (theme) document.documentElement.dataset.theme = theme;
byId("search").addEventListener("input", showTools);
byId("language").addEventListener("click", () => {
  state.language = state.language === "zh" ? "en" : "zh";
  state.etag = null;
  remember("language", state.language);
  begin();
});
byId("theme").addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  remember("theme", document.documentElement.dataset.theme);
  speak();
});
addEventListener("hashchange", () => { if (state.listing && location.hash !== "#main") { show(); byId("main").focus(); } });
addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.ctrlKey && !/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) {
    event.preventDefault();
    byId("search").focus();
  }
});
setInterval(() => { if (!document.hidden) refresh(); }, REFRESH);
begin();
