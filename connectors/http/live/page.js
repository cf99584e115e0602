// The live page. All text from skills, requests and models becomes text nodes: the page's policy
// ("require-trusted-types-for") lets nothing become markup.

const MARKS = { waiting: "·", running: "◔", done: "✓", failed: "✕", skipped: "–" };
const STATES = { waiting: "waiting", running: "running", done: "done", failed: "failed", skipped: "not needed" };
const WASHES = { ok: "good", no_confident_match: "open", blocked_request: "bad", blocked_retrieved: "bad" };
const FEW_ROWS = 8;
const KEPT_RUNS = 20;
const SLOW_STAGE_MS = 700;
const LONGEST_PAUSE_MS = 15_000;

const at = (id) => document.getElementById(id);
const page = { token: "", stages: [], runs: new Map(), selected: null, own: null, allRows: false, listening: null };

function make(tag, properties, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (name.includes("-") || name === "scope") node.setAttribute(name, value);
    else node[name] = value;
  }
  node.append(...children.filter((child) => child !== "" && child != null));
  return node;
}

const fixed = (value, digits) => (value == null ? "" : value.toFixed(digits));
const signed = (value) => (value == null ? "" : `${value < -0.05 ? "−" : "+"}${Math.abs(value).toFixed(1)}`);
const say = (sentence) => { at("said").textContent = sentence; };

// --- what comes from the server

class Refused extends Error {
  constructor(status, message) { super(message); this.status = status; }
}

async function call(path, options = {}) {
  const headers = { ...options.headers, ...(page.token && { authorization: `Bearer ${page.token}` }) };
  const answer = await fetch(path, { ...options, headers, cache: "no-store" });
  if (answer.ok) return answer;
  const body = await answer.json().catch(() => null);
  throw new Refused(answer.status, body?.error?.message ?? `The server answered ${answer.status}.`);
}

async function* eventsOf(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (text + value).split("\r\n\r\n");
    text = blocks.pop();
    for (const block of blocks) {
      const fields = block.split("\r\n").filter((line) => !line.startsWith(":"));
      const get = (name) => fields.filter((f) => f.startsWith(`${name}: `)).map((f) => f.slice(name.length + 2)).join("\n");
      if (get("data")) yield { name: get("event"), data: JSON.parse(get("data")) };
    }
  }
}

async function listen() {
  page.listening?.abort();
  const mine = page.listening = new AbortController();
  for (let pause = 500; !mine.signal.aborted; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      const answer = await call("/live/events", { signal: mine.signal });
      connected("live", true);
      askForToken(false);
      for await (const event of eventsOf(answer)) {
        pause = 500;
        event.name === "snapshot" ? takeSnapshot(event.data) : takeChange(event.data);
      }
    } catch (error) {
      if (mine.signal.aborted) return;
      if (error.status === 401) { askForToken(true); return; }
    }
    if (mine.signal.aborted) return;
    connected("not connected, trying again", false);
    await new Promise((resume) => setTimeout(resume, pause));
  }
}

function connected(words, live) {
  if (at("connection").textContent !== words) at("connection").textContent = words;
  at("connection").classList.toggle("live", live);
}

function takeSnapshot({ stages, runs }) {
  page.stages = stages;
  const before = page.runs;
  page.runs = new Map(runs.map((run) => [run.run, { ...before.get(run.run), ...run }]));
  const shown = before.get(page.selected);
  if (page.runs.has(page.selected)) loadRun(page.selected);
  // what is on the screen stays there, also when the server has forgotten it
  else if (shown) page.runs = new Map([[page.selected, shown], ...page.runs]);
  draw();
}

function takeChange({ stage, ...changes }) {
  const isNew = !page.runs.has(changes.run);
  const run = page.runs.get(changes.run) ?? { stages: {} };
  Object.assign(run, changes);
  if (stage) run.stages = { ...run.stages, [stage.name]: stage };
  page.runs.set(run.run, run);
  if (page.runs.size > KEPT_RUNS) page.runs.delete([...page.runs.keys()].find((id) => id !== page.selected));
  if (isNew && at("follow").checked && !page.own) select(run.run);
  if (run.run === page.selected) {
    if (stage?.state === "running") announceIfSlow(run.run, stage.name);
    if (changes.outcome && run.run !== page.own) loadRun(run.run).then(() => say(sentenceOf(run)));
  }
  draw();
}

function announceIfSlow(id, name) {
  setTimeout(() => {
    if (id === page.selected && page.runs.get(id)?.stages[name]?.state === "running") {
      say(`Stage ${page.stages.indexOf(name) + 1} of ${page.stages.length}, ${name}, is running.`);
    }
  }, SLOW_STAGE_MS);
}

async function loadRun(id) {
  try {
    const run = await (await call(`/live/runs/${id}`)).json();
    page.runs.set(id, { ...page.runs.get(id), ...run });
    draw();
  } catch (error) {
    if (id === page.selected) at("problem").textContent = error.message;
  }
}

function select(id) {
  page.selected = id;
  page.allRows = false;
  draw();
}

// --- asking

async function ask() {
  stop();
  const text = at("request").value;
  const exclude = at("exclude").value.split(/[\s,]+/).filter(Boolean);
  const mine = new AbortController();
  page.cancel = mine;
  at("problem").textContent = "";
  at("stop").hidden = false;
  say("Picking.");
  try {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ request: text, exclude });
    const answer = await call("/live/runs", { method: "POST", headers, body, signal: mine.signal });
    let ended = false;
    for await (const { name, data } of eventsOf(answer)) {
      if (name === "run") { page.own = data.run; select(data.run); }
      if (name === "problem") throw new Refused(400, data.message);
      if (name === "end") { ended = true; await showEnd(data.run); }
    }
    if (!ended) throw new Refused(0, "The connection broke off: ask again, or see the latest picks.");
  } catch (error) {
    if (error.status === 401) askForToken(true);
    else if (!mine.signal.aborted) showProblem(error);
  } finally {
    if (page.cancel === mine) { page.cancel = page.own = null; at("stop").hidden = true; }
  }
}

function showProblem(error) {
  at("problem").textContent = error instanceof Refused ? error.message : "The server cannot be reached: is it running?";
  at("request").focus();
}

async function showEnd(id) {
  await loadRun(id);
  if (id !== page.selected) return;
  drawNow();
  say(sentenceOf(page.runs.get(id)));
  at("outcome-heading").focus();
}

function stop() {
  if (!page.cancel) return;
  page.cancel.abort();
  page.cancel = page.own = null;
  at("stop").hidden = true;
  say("Stopped.");
  at("request").focus();
}

function askForToken(wanted) {
  if (!wanted) {
    const asked = !at("token-form").hidden;
    at("token-form").hidden = true;
    at("ask").hidden = false;
    if (asked) at("request").focus();
    return;
  }
  at("token-problem").textContent = page.token ? "That token is wrong: look it up where the server was started." : "";
  page.token = "";
  connected("waiting for the token", false);
  at("token-form").hidden = false;
  at("ask").hidden = true;
  at("token").value = "";
  at("token").focus();
}

// --- what is seen

let due = false;
function draw() {
  if (due) return;
  due = true;
  requestAnimationFrame(drawNow);
}

function drawNow() {
  due = false;
  drawRecent();
  const run = page.runs.get(page.selected);
  at("empty").hidden = Boolean(run);
  at("run").hidden = at("places").hidden = !run;
  if (!run) return;
  drawStages(run);
  drawOutcome(run);
  drawCandidates(run);
  drawWhy(run);
  drawBundle(run);
  for (const link of at("places").children) link.hidden = at(link.hash.slice(1)).parentNode.hidden;
}

const hasEnded = (run) => ["done", "failed", "cancelled"].includes(run.state);

function resultOf(run) {
  if (run.outcome) return run.outcome.headline;
  return { waiting: "Waiting", running: "Picking", stopping: "Stopping", failed: "The run failed", cancelled: "Stopped" }[run.state] ?? "Waiting";
}

function sentenceOf(run) {
  const found = run.outcome;
  if (!found) return `${resultOf(run)}.`;
  const kind = found.status === "ok" ? "Picked " : "";
  const ambiguous = found.ambiguous ? " More than one skill may fit." : "";
  const rules = found.rules.length ? ` Rules: ${found.rules.join(", ")}.` : "";
  return `${kind}${found.headline}.${ambiguous}${rules} ${Math.round(found.milliseconds)} milliseconds.`;
}

function drawStages(run) {
  const extra = Object.keys(run.stages).filter((name) => !page.stages.includes(name));
  const names = page.stages.flatMap((name) => (name === "judge" ? [name, ...extra] : [name]));
  at("stage-list").replaceChildren(...names.map((name) => {
    const stage = run.stages[name] ?? { state: hasEnded(run) ? "skipped" : "waiting" };
    const words = stage.degraded ? `${stage.words} (fell back)` : stage.words ?? "";
    return make("li", { className: `stage ${stage.state}` },
      make("span", { className: "mark", "aria-hidden": "true" }, MARKS[stage.state]),
      make("span", {}, make("span", { className: "name" }, name), make("span", { className: "words" }, words)),
      make("span", { className: "ms" },
        stage.milliseconds == null ? STATES[stage.state] : `${stage.milliseconds.toFixed(stage.milliseconds < 10 ? 1 : 0)} ms`));
  }));
}

function drawOutcome(run) {
  const found = run.outcome;
  const blocked = found?.status === "blocked_request";
  at("asked").textContent = run.request ?? (blocked ? `A blocked request, ${run.sha}: its text is not shown` : `Request ${run.sha ?? ""}`);
  at("verdict").className = `verdict ${found ? WASHES[found.status] : run.state === "failed" ? "bad" : "open"}`;
  if (at("outcome-heading").textContent !== resultOf(run)) at("outcome-heading").textContent = resultOf(run);
  const tags = found ? [found.ambiguous && "ambiguous", found.low_confidence && "low confidence"].filter(Boolean) : [];
  const chance = found?.confidence == null ? "" : `Confidence ${found.confidence > 0.99 ? "over 0.99" : fixed(found.confidence, 2)}: the share of right first picks at this score in the calibration data.`;
  at("marks").replaceChildren(...tags.map((tag) => make("span", { className: "tag" }, tag)), chance);
  const more = [
    ...(found?.compatibility ? [`Together: ${found.compatibility}`] : []),
    ...(found ? [`${Math.round(found.milliseconds)} ms, run ${found.run_id}`] : []),
    ...(run.state === "cancelled" ? ["Nothing was handed over, and no record is kept."] : []),
    ...(run.state === "failed" ? [run.problem] : []),
  ];
  at("reasons").replaceChildren(...[...(found?.reasons ?? []), ...more].map((line) => make("li", {}, line)));
  at("question").hidden = !found?.question;
  at("question-text").textContent = found?.question ?? "";
  at("shortlist").replaceChildren(...(found?.shortlist ?? []).map(({ skill, about }) =>
    make("div", {}, make("dt", {}, skill), make("dd", {}, about))));
  at("degraded").hidden = !found?.degraded.length;
  at("degraded-list").replaceChildren(...(found?.degraded ?? []).map(({ stage, reason }) => make("li", {}, `${stage}: ${reason}`)));
}

function scoreCell(score, floor) {
  if (score == null) return make("td", { className: "n" });
  const fill = make("i"), tick = make("b");
  fill.style.width = `${score * 100}%`;
  tick.style.left = `${(floor ?? 0) * 100}%`;
  const bar = make("span", { className: "bar", "aria-hidden": "true" }, fill, floor == null ? "" : tick);
  return make("td", { className: "n" }, bar, fixed(score, 2));
}

function decisionOf({ fate, why }) {
  return ["picked", "kept"].includes(fate) ? [fate, why].filter(Boolean).join(": ") : why;
}

function drawCandidates(run) {
  const rows = run.candidates ?? [];
  const shown = page.allRows ? rows : rows.slice(0, FEW_ROWS);
  at("candidates").hidden = !rows.length;
  at("rows").replaceChildren(...shown.map((row) => make("tr", { className: row.fate },
    make("th", { scope: "row" }, row.unit === row.skill ? row.skill : `${row.skill} (${row.unit})`),
    scoreCell(row.score, run.outcome?.floor),
    make("td", { className: "n" }, fixed(row.bm25, 2)),
    make("td", { className: "n" }, fixed(row.cosine, 2)),
    make("td", { className: "n" }, String(row.rank)),
    make("td", {}, row.gate ?? ""),
    make("td", {}, decisionOf(row)))));
  at("all").hidden = rows.length <= FEW_ROWS;
  at("all").textContent = page.allRows ? `Show the first ${FEW_ROWS}` : `Show all ${rows.length}`;
  at("all").setAttribute("aria-expanded", String(page.allRows));
}

function drawWhy(run) {
  const found = run.outcome;
  const weighed = (run.candidates ?? []).filter((row) => row.evidence);
  at("why").hidden = !found || !(found.against.length || weighed.length);
  if (!found) return;
  at("against").replaceChildren(...found.against.map((line) => make("li", {}, line)));
  at("evidence").hidden = !weighed.length;
  at("evidence-head").replaceChildren(...["skill", ...found.columns, "score"].map((name, column) =>
    make("th", { scope: "col", className: column ? "n" : "" }, name)));
  at("evidence-rows").replaceChildren(...weighed.map((row) => make("tr", { className: row.fate },
    make("th", { scope: "row" }, row.unit),
    ...found.columns.map((name) => make("td", { className: "n" }, signed(row.evidence[name]))),
    make("td", { className: "n" }, fixed(row.score, 2)))));
}

function drawBundle(run) {
  const text = run.bundle ?? "";
  at("bundle").hidden = !run.outcome;
  at("bundle-note").textContent = run.outcome?.characters
    ? `${run.outcome.characters.toLocaleString("en")} characters between nonce markers: reference material, not instructions.`
    : "Nothing is handed over.";
  at("copy").hidden = at("bundle-text").hidden = !text;
  if (at("bundle-text").textContent !== text) at("bundle-text").textContent = text;
}

const buttons = new Map();
function drawRecent() {
  const runs = [...page.runs.values()].reverse();
  for (const id of buttons.keys()) if (!page.runs.has(id)) buttons.delete(id);
  const items = runs.map((run) => {
    // a button stays the same node, so that it keeps the focus
    const item = buttons.get(run.run) ?? make("li", {}, make("button", { type: "button", onclick: () => choose(run.run) }));
    buttons.set(run.run, item);
    item.firstChild.setAttribute("aria-current", String(run.run === page.selected));
    item.firstChild.replaceChildren(
      make("span", {}, run.at ? new Date(run.at).toLocaleTimeString([], { hour12: false }) : ""),
      make("span", {}, run.caller ?? ""),
      make("span", { className: "result" }, resultOf(run)),
      make("span", {}, run.outcome ? `${Math.round(run.outcome.milliseconds)} ms` : ""),
      make("span", { className: "what" }, run.request ?? `request ${run.sha ?? ""}`));
    return item;
  });
  const list = at("recent-list");
  if (items.length !== list.children.length || items.some((item, place) => list.children[place] !== item)) {
    const focused = document.activeElement;
    list.replaceChildren(...items);
    if (list.contains(focused)) focused.focus();
  }
}

async function choose(id) {
  select(id);
  await loadRun(id);
  drawNow();
  say(sentenceOf(page.runs.get(id)));
  at("outcome-heading").focus();
}

async function copy() {
  const text = at("bundle-text").textContent;
  try {
    await navigator.clipboard.writeText(text);
    say("The bundle is copied.");
    at("copy").textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(at("bundle-text"));
    say("The bundle is selected: copy it with the keyboard.");
    at("copy").textContent = "Selected: copy it with the keyboard";
  }
  setTimeout(() => { at("copy").textContent = "Copy the bundle"; }, 2_000);
}

at("ask").addEventListener("submit", (event) => { event.preventDefault(); ask(); });
at("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  page.token = at("token").value;
  listen();
});
at("request").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); ask(); }
});
at("stop").addEventListener("click", stop);
at("copy").addEventListener("click", copy);
at("all").addEventListener("click", () => { page.allRows = !page.allRows; drawNow(); });
document.addEventListener("keydown", (event) => { if (event.key === "Escape") stop(); });
// a browser opens few connections to one host: a page that nobody sees gives its own back
document.addEventListener("visibilitychange", () => {
  if (document.hidden) page.listening?.abort();
  else listen();
});
listen();
