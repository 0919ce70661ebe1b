// The table of trials, and the view of one trial. All data is hostile, so text enters the page by text nodes only, and
// addresses are made of encoded parts.

const ROWS_AT_ONCE = 100;
const LINKS_AT_ONCE = 400; // in the layout scenario × arm, for each 100 rows
const MARKS = { passed: "✓", failed: "✗", unjudged: "?", excluded: "–", missing: "·" };
const STATUSES = {
  failed: "failed", passed: "passed", unjudged: "not judged", excluded: "not in the rates", missing: "no trial",
};

// --- table of trials ---

const COLUMNS = [
  ["scenario", (row) => row.scenario], ["arm", (row, table) => table.arms[row.arm] ?? row.arm],
  ["rep.", (row) => row.repetition], ["result", (row) => row.status, (row) => `${MARKS[row.status]} ${STATUSES[row.status]}`],
  ["why", (row) => row.why], ["score", (row) => row.score, (row) => fraction(row.score)],
  ["grade", (row) => row.grade, (row) => row.grade ?? "-"], ["USD", (row) => row.usd, (row) => dollars(row.usd)],
  ["time", (row) => row.seconds, (row) => seconds(row.seconds)], ["tokens", (row) => row.tokens, (row) => count(row.tokens)],
];
const state = { table: null, shown: [], limit: ROWS_AT_ONCE, sort: null, descending: false };

/** Make the rows of a table that is stored by columns. */
function rowsOf({ cells, texts, numbers }) {
  const text = (name) => texts[name].rows.map((at) => texts[name].texts[at]);
  const [scenario, arm, status, outcome, why, grade] = ["scenario", "arm", "status", "outcome", "why", "grade"].map(text);
  const { repetition, score, usd, seconds, tokens } = numbers;
  return cells.map((cell, at) => ({
    cell, scenario: scenario[at], arm: arm[at], status: status[at], outcome: outcome[at], why: why[at], grade: grade[at],
    repetition: repetition[at], score: score[at], usd: usd[at], seconds: seconds[at], tokens: tokens[at], text: null,
  }));
}

/** Id of a row's cell, which is stored only if it does not consist of the other columns. */
function cellOf(row) {
  row.cell ??= `${row.scenario}--${row.arm}--r${String(row.repetition).padStart(2, "0")}`;
  return row.cell;
}

/** Text of a row that is searched, made when it is first needed. */
function textOf(row) {
  row.text ??= `${cellOf(row)} ${state.table.arms[row.arm] ?? ""} ${row.why} ${row.outcome}`.toLowerCase();
  return row.text;
}

function setUpTable(table) {
  state.table = { ...table, rows: rowsOf(table) };
  fillFilters(state.table);
  const update = () => { state.limit = ROWS_AT_ONCE; filterTrials(); };
  byId("filters").addEventListener("input", update);
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("filters").addEventListener("reset", () => setTimeout(update));
  byId("more-trials").addEventListener("click", () => { state.limit += ROWS_AT_ONCE; drawTrials(); });
  byId("side-by-side").append(comparisonLink(state.table.rows.find((row) => row.status === "failed") ?? state.table.rows[0],
    "Compare two arms side by side") ?? "");
  filterTrials();
}

function fillFilters(table) {
  const { arm: arms, status: statuses, outcome: outcomes } = table.texts;
  fillSelect("filter-arm", arms.texts.map((arm) => [arm, table.arms[arm] ?? arm]));
  fillSelect("filter-status", Object.entries(STATUSES).filter(([name]) => statuses.texts.includes(name)));
  fillSelect("filter-outcome", [...outcomes.texts].sort().map((name) => [name, name]));
  if (Object.keys(table.arms).length > 12) byId("layout").value = "list";
}

function fillSelect(id, options) {
  byId(id).append(...options.map(([value, words]) => element("option", { value }, words)));
}

function filterTrials() {
  const words = byId("filter-text").value.toLowerCase().split(/\s+/).filter(Boolean);
  const [arm, status, outcome] = ["arm", "status", "outcome"].map((name) => byId(`filter-${name}`).value);
  state.shown = state.table.rows.filter((row) =>
    (!arm || row.arm === arm) && (!status || row.status === status) && (!outcome || row.outcome === outcome)
    && words.every((word) => textOf(row).includes(word)));
  sortTrials();
  drawTrials();
}

function sortTrials() {
  if (state.sort === null) return;
  const read = COLUMNS[state.sort][1];
  const values = new Map(state.shown.map((row) => [row, read(row, state.table)]));
  const sign = state.descending ? -1 : 1;
  state.shown.sort((left, right) => sign * compare(values.get(left), values.get(right)));
}

/** Compare two values; unknown ones are the least. */
function compare(left, right) {
  if (unknown(left) || unknown(right)) return Number(unknown(right)) - Number(unknown(left));
  return left < right ? -1 : left > right ? 1 : 0;
}

function drawTrials() {
  const isList = byId("layout").value === "list";
  const left = isList ? drawList() : drawGrid();
  const failed = state.shown.filter((row) => row.status === "failed").length;
  byId("trial-count").textContent = `${count(state.shown.length)} of ${count(state.table.rows.length)} trials, `
    + `${count(failed)} failed. ✓ passed, ✗ failed, ? not judged, – not in the rates, · no trial`;
  byId("more-trials").hidden = left <= 0;
}

const addressOf = (row) => `#cell=${encodeURIComponent(cellOf(row))}`;

/** Draw a row for each trial; return how many are left. */
function drawList() {
  const head = COLUMNS.map(([name], at) => element("th", { scope: "col", "aria-sort": sortState(at) },
    element("button", { type: "button", click: () => sortBy(at) }, `${name}${sortMark(at)}`)));
  const rows = state.shown.slice(0, state.limit).map((row) => element("tr", {}, ...COLUMNS.map(([name, read, show], at) => {
    const text = String((show ?? read)(row, state.table));
    if (at === 0) return element("th", { scope: "row" }, element("a", { href: addressOf(row) }, text));
    return element("td", { class: name === "result" ? `status ${row.status}` : name === "why" || name === "arm" ? "words" : null }, text);
  })));
  byId("trial-table").replaceChildren(element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
  return state.shown.length - state.limit;
}

const sortState = (at) => state.sort !== at ? "none" : state.descending ? "descending" : "ascending";
const sortMark = (at) => state.sort !== at ? "" : state.descending ? " ↓" : " ↑";

function sortBy(at) {
  state.descending = state.sort === at && !state.descending;
  state.sort = at;
  sortTrials();
  drawTrials();
  byId("trial-table").querySelectorAll("thead button")[at].focus();
}

/** Draw a row for each scenario and a column for each arm, in which every trial is a link; return how many are left. */
function drawGrid() {
  const arms = Object.keys(state.table.arms).filter((arm) => state.shown.some((row) => row.arm === arm));
  const scenarios = new Map();
  for (const row of state.shown) {
    if (!scenarios.has(row.scenario)) scenarios.set(row.scenario, new Map());
    const cells = scenarios.get(row.scenario);
    cells.set(row.arm, [...(cells.get(row.arm) ?? []), row]);
  }
  const head = ["scenario", ...arms.map((arm) => state.table.arms[arm])].map((name) => element("th", { scope: "col", class: "words" }, name));
  const links = LINKS_AT_ONCE * state.limit / ROWS_AT_ONCE;
  const room = Math.max(1, Math.floor(links * scenarios.size / Math.max(1, state.shown.length)));
  const body = [...scenarios].slice(0, room).map(([scenario, cells]) => element("tr", {},
    element("th", { scope: "row" }, scenario),
    ...arms.map((arm) => element("td", { class: "cells" }, ...(cells.get(arm) ?? []).sort(
      (left, right) => left.repetition - right.repetition).map(gridLink)))));
  byId("trial-table").replaceChildren(element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body));
  return scenarios.size - room;
}

function gridLink(row) {
  const words = `${row.scenario}, ${state.table.arms[row.arm] ?? row.arm}, repetition ${row.repetition}: ${STATUSES[row.status]}`;
  return element("a", { href: addressOf(row), class: row.status, title: `${words}${row.why ? `: ${row.why}` : ""}`, "aria-label": words },
    MARKS[row.status]);
}

// --- one trial ---

const rowOf = (cell) => state.table.rows.find((row) => cellOf(row) === cell);

/** Return the records of a trial that are inside the page; null: they are not. */
async function recordsOf(cell) {
  const script = [...document.querySelectorAll("script.trial")].find((candidate) => candidate.dataset.cell === cell);
  return script ? decode(script.textContent) : null;
}

/** Show a trial, and one line of its diff if that is named as `path:number`. */
async function showTrial(cell, line) {
  if (state.cell !== cell || !line) {
    const row = rowOf(cell);
    const trial = await recordsOf(cell);
    showView(...trialHead(cell, row), ...(trial ? trialParts(trial) : row ? [missingTrial(row)] : []));
    state.cell = cell;
  }
  if (line) showLine(line);
}

/** Show parts instead of the report. */
function showView(...parts) {
  const view = byId("trial");
  view.replaceChildren(...parts);
  state.cell = null;
  byId("report").hidden = true;
  view.hidden = false;
  view.focus();
  scrollTo(0, 0);
}

function showLine(line) {
  const view = byId("trial");
  for (const earlier of view.querySelectorAll(".target")) earlier.classList.remove("target");
  const target = [...view.querySelectorAll("[data-line]")].find((candidate) => candidate.dataset.line === line);
  target?.classList.add("target");
  target?.scrollIntoView({ block: "center" });
}

function trialHead(cell, row) {
  const at = state.shown.indexOf(row);
  const neighbour = (step, words) => {
    const target = at < 0 ? undefined : state.shown[at + step];
    return target ? element("a", { href: addressOf(target), rel: step < 0 ? "prev" : "next" }, words) : null;
  };
  const status = row ? element("p", {}, element("span", { class: `status ${row.status}` },
    `${MARKS[row.status]} ${STATUSES[row.status]}`), row.why ? `: ${row.why}` : "") : element("p", {}, "This run has no such cell.");
  return [
    element("nav", { class: "tools", "aria-label": "Trial" }, element("a", { href: "#trials" }, "← All trials"),
      neighbour(-1, "Previous"), neighbour(1, "Next"), comparisonLink(row, "Compare with another arm"), searchBox()),
    element("h1", { id: "trial-name" }, cell), status,
  ];
}

function missingTrial(row) {
  if (state.table.is_site && row?.status !== "missing") return siteTrial(row);
  const where = state.table.has_files && row && row.status !== "missing"
    ? [" They are in the folder ", element("a", { href: `${encodeURIComponent(cellOf(row))}/` }, `${cellOf(row)}/`), " beside this page."]
    : [" In GitHub Actions, the artifacts of trials have them; put them beside this page."];
  const words = row?.status === "missing" ? "No trial of this cell is stored." : "The records of this trial are not inside the page, which has limited room.";
  return element("p", {}, words, ...(row?.status === "missing" ? [] : where));
}

/** Show what the row of a trial says; a site has no records of trials. */
function siteTrial(row) {
  if (!row) return element("p", {});
  const values = COLUMNS.map(([name, read, show]) => [name, String((show ?? read)(row, state.table))]);
  return element("div", {}, facts({ facts: [...values, ["outcome", row.outcome]].filter(([, value]) => value !== "") }),
    element("p", { class: "note" }, "The results branch keeps rows only. The conversation, the diff and the judges' answers are in the artifacts of the workflow run."));
}

function trialParts(trial) {
  return [facts(trial), ...taskPart(trial), ...checksPart(trial), ...conversationPart(trial), ...diffPart(trial),
    ...rubricPart(trial), ...judgesPart(trial), ...tokensPart(trial), ...filesPart(trial)];
}

const heading = (words) => element("h2", {}, words);
const passage = (text) => element("pre", { tabindex: "0" }, text);
const cutNote = (entry) => element("p", { class: "note" }, `[${count(entry.cut)} left out here; the files have them]`);
const flagsOf = (entry) => entry.flags?.length ? ` [${entry.flags.join(", ")}]` : "";

/** Apply `draw` to each entry; an entry that stands for left out ones becomes a note. */
const drawn = (entries, draw) => entries.map((entry, at) => entry !== null && typeof entry === "object" && "cut" in entry ? cutNote(entry) : draw(entry, at));

function facts(trial) {
  return element("dl", { class: "facts" }, ...drawn(trial.facts, (fact) => element("div", {},
    element("dt", {}, fact[0]), element("dd", {}, fact[1]))));
}

function taskPart(trial) {
  return trial.task ? [heading("Task"), passage(trial.task)] : [];
}

const isCondition = (check) => check.role === "condition";
const holding = (checks) => `${checks.filter((check) => check.holds).length} of ${checks.length} hold`;

function checksPart(trial) {
  const checks = trial.checks.filter((check) => !isCondition(check));
  const conditions = trial.checks.filter(isCondition);
  const sorted = [...checks].sort((left, right) => Number(left.holds ?? 0) - Number(right.holds ?? 0));
  return [
    ...(checks.length ? [heading(`Checks: ${holding(checks)}`), ...drawn(sorted, (check) => checkDetails(check, trial))] : []),
    ...(conditions.length ? [heading(`Conditions: ${holding(conditions)}`),
      element("p", { class: "note" }, "They only decide which rubric items apply, and never fail a trial."),
      ...drawn(conditions, (check) => checkDetails(check, trial))] : []),
  ];
}

/** Draw a check: its sentence, and its output, which is open if the check fails. */
function checkDetails(check, trial) {
  const kind = isCondition(check) ? "neutral" : check.holds ? "holds" : "fails";
  const words = isCondition(check) ? (check.holds ? "✓ holds" : "– does not hold") : check.holds ? "✓ holds" : "✗ fails";
  const notes = [check.what ? check.id : "", !check.holds && check.value ? `${Math.round(100 * check.value)} % of it` : "",
    check.role === "guard" ? "guard" : ["scored", "progress"].includes(check.role) ? "not required" : ""].filter(Boolean);
  return element("details", { class: "check", open: kind === "fails" ? "" : null },
    element("summary", {}, element("span", { class: `status ${kind}` }, words), ` ${check.what || check.id}`,
      notes.length ? element("span", { class: "tag" }, notes.join(", ")) : null),
    evidence(check.evidence || "no output", trial));
}

function conversationPart(trial) {
  if (!trial.steps.length && !trial.final_message) {
    return [heading("Conversation"), element("p", {}, "None is stored: built-in agents, and agents that never answered, have none.")];
  }
  const last = trial.steps.at(-1);
  const final = trial.final_message && trial.final_message.trim() !== (last?.text ?? "").trim();
  return [heading(`Conversation: ${counted(trial.steps.length, "step")}`),
    ...drawn(trial.steps, (step, at) => element("section", { class: `step ${step.source}`, "aria-label": `step ${at + 1} of ${trial.cell}` },
      element("h3", {}, `${at + 1} ${step.source}`, stepCost(trial.step_requests[at])), step.text.trim() ? passage(step.text) : null,
      ...drawn(step.tool_calls, toolCall))),
    final ? element("section", { class: "step agent" }, element("h3", {}, "final message"), passage(trial.final_message)) : null,
  ].filter((part) => part !== null);
}

/** Say when a step's request was sent, how long its answer took, its tokens and its cost; nothing if that is unknown. */
function stepCost(request) {
  if (!request || unknown(request.prompt)) return null;
  const cached = request.cached ? ` (${count(request.cached)} cached)` : "";
  return element("span", { class: "cost" }, `at ${seconds(request.second)}, took ${seconds(request.seconds)}, `
    + `${counted(request.prompt, "token")} in${cached}, ${count(request.output)} out, ${unknown(request.usd) ? "cost unknown" : dollars(request.usd)}`);
}

function toolCall(call) {
  const took = unknown(call.seconds) ? "" : ` (${seconds(call.seconds)})`;
  const values = call.arguments !== null && typeof call.arguments === "object" ? Object.entries(call.arguments) : [["input", call.arguments]];
  const state = call.result === null ? "no result came" : call.failed ? "✗ failed" : "result";
  return element("details", { class: `call ${call.failed ? "failed" : ""}`, open: call.failed || values.length < 3 ? "" : null },
    element("summary", {}, element("strong", {}, call.name), took, call.failed ? element("span", { class: "status fails" }, " ✗ failed") : null),
    ...values.flatMap(([name, value]) => [element("div", { class: "note" }, name),
      passage(typeof value === "string" ? value : JSON.stringify(value))]),
    element("div", { class: "note" }, state), call.result === null ? null : passage(call.result || "(empty)"));
}

const isCut = (line) => line.startsWith("[cut here: ");

/** Return the lines of a patch, each with its kind and, as `path:number`, its place in the new file if it has one. */
function diffLines(trial) {
  if (trial.lines) return trial.lines;
  const kinds = { "+": "add", "-": "del", "@": "hunk" };
  let file = null;
  let number = null; // of the next line in the new file; null: unknown
  let left = 0; // lines of the new file that the hunk still has
  trial.lines = (trial.patch ?? "").split("\n").map((text) => {
    const hunk = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/.exec(text);
    if (hunk) [number, left] = [Number(hunk[1]), Number(hunk[2] ?? 1)];
    else if (isCut(text)) number = null;
    else if (text.startsWith("+++ ") && !left) file = text.startsWith("+++ b/") ? text.slice(6) : null;
    else if (left && (text[0] === "+" || text[0] === " ")) {
      left -= 1;
      const place = file !== null && number !== null ? `${file}:${number}` : null;
      if (number !== null) number += 1;
      return { text, kind: kinds[text[0]], place };
    }
    return { text, kind: kinds[text[0]], place: null };
  });
  return trial.lines;
}

function diffPart(trial) {
  const names = trial.changed_files;
  if (!trial.patch) return [heading("Diff"), element("p", {}, names.length ? "The patch is not stored." : "Nothing was changed.")];
  const lines = diffLines(trial).map(({ text, kind, place }) => kind || place
    ? element("span", { class: kind ?? null, "data-line": place }, `${text}\n`) : `${text}\n`);
  return [heading(`Diff: ${counted(names.length, "file")}`), element("pre", { tabindex: "0", class: "diff" }, ...lines)];
}

// Limited lengths, and starts at the beginning of a word only, so that the time grows with the length of the text.
const PLACES = /File "([^"\n]{1,300})", line (\d{1,7})|(?<![\w./+-])([\w./+-]{1,300}):(\d{1,7})/g;

/** Make a passage in which `path:number`, or a frame of a traceback, leads to that line of the diff if it is there. */
function evidence(text, trial) {
  trial.places ??= new Set(diffLines(trial).map((line) => line.place));
  const parts = [];
  let from = 0;
  for (const match of text.matchAll(PLACES)) {
    const [path, number] = [match[1] ?? match[3], match[2] ?? match[4]];
    const place = placeOf(path, number, trial.places);
    if (!place) continue;
    const address = `#cell=${encodeURIComponent(trial.cell)}&line=${encodeURIComponent(place)}`;
    parts.push(text.slice(from, match.index), element("a", { href: address }, match[0]));
    from = match.index + match[0].length;
  }
  return element("pre", { tabindex: "0" }, ...parts, text.slice(from));
}

/** Find a line in the diff by the end of its path, since checks work in a folder of their own. */
function placeOf(path, number, known) {
  const names = path.split("/");
  const ends = names.map((_, at) => `${names.slice(at).join("/")}:${number}`);
  return ends.find((end) => known.has(end));
}

function tableOf(headings, rows, label) {
  return element("div", { class: "scroll", role: "region", "aria-label": label, tabindex: "0" }, element("table", {},
    element("thead", {}, element("tr", {}, ...headings.map((name, at) => element("th", { scope: "col", class: at === headings.length - 1 ? "words" : null }, name)))),
    element("tbody", {}, ...rows.map((cells) => element("tr", {}, ...cells.map((cell, at) =>
      at ? element("td", { class: at === cells.length - 1 ? "words" : null }, cell) : element("th", { scope: "row" }, cell)))))));
}

const pointsOf = (item) => unknown(item.value) ? "N/A" : `${fraction(item.value * item.points)} of ${fraction(item.points)}`;

function rubricPart(trial) {
  if (!trial.items.length) return [];
  const items = trial.items.filter((item) => !("cut" in item));
  const rows = items.map((item) => [element("span", {}, `${item.id} `, element("span", { class: "text" }, item.text)), item.category,
    pointsOf(item), item.by, `${item.reason}${flagsOf(item)}`]);
  return [heading(`Rubric: ${counted(trial.items.length, "item")}`), tableOf(["item", "category", "points", "by", "why"], rows, "Rubric")];
}

function judgesPart(trial) {
  if (!trial.answers.length) return [];
  const texts = new Map(trial.items.map((item) => [item.id, item.text]));
  return [heading("Judges"), ...drawn(trial.answers, (answer) => element("details", { open: "" },
    element("summary", {}, element("strong", {}, answer.judge), flagsOf(answer)),
    answer.error ? element("p", { class: "fails" }, `not answered in full: ${answer.error}`) : null,
    ...drawn(answer.items, (score) => element("div", { class: "step" },
      element("h3", {}, `${score.id}: ${unknown(score.value) ? score.state : fraction(score.value)}${flagsOf(score)}${score.reason ? ` (${score.reason})` : ""}`),
      texts.get(score.id) ? element("p", {}, texts.get(score.id)) : null,
      score.evidence ? evidence(score.evidence, trial) : null,
      ...drawn(score.deductions, (deduction) => element("p", {}, `−${fraction(deduction.points)} ${deduction.severity}: ${deduction.why}`)))),
    answer.excess ? element("p", {}, `Beyond the requirements: ${answer.excess}`) : null))];
}

// --- tokens over time ---

function shape(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function tokensPart(trial) {
  const requests = trial.requests.filter((request) => !("cut" in request));
  if (!requests.length) return [];
  const known = requests.filter((request) => !unknown(request.prompt));
  const most = Math.max(1, ...known.map((request) => request.prompt + request.output));
  const rows = requests.map((request, at) => [String(at + 1), `${request.second} s`, count(request.prompt), count(request.cached),
    count(request.output), dollars(request.usd), request.model, request.error ?? ""]);
  const total = known.reduce((sum, request) => sum + request.prompt + request.output, 0);
  const words = `${counted(requests.length, "request")}, ${count(total)} tokens, at most ${count(most)} in one`;
  const bars = total ? [tokenBars(known, most, words)] : [];
  return [heading("Tokens over time"),
    element("p", {}, `${words}.${total ? " Bars, by request, from below: input read from the cache, other input, output." : ""}`),
    ...bars, tableOf(["request", "at", "input", "of it cached", "output", "USD", "model", "error"], rows, "Requests")];
}

function tokenBars(requests, most, words) {
  const width = 600 / Math.max(requests.length, 8);
  const bars = requests.flatMap((request, at) => {
    let top = 130;
    const parts = [[request.cached, "part-3"], [request.prompt - request.cached, "part-1"], [request.output, "part-2"]];
    return parts.map(([size, color]) => {
      const height = 125 * size / most;
      top -= height;
      return shape("rect", { x: at * width + 1, y: top, width: Math.max(1, width - 2), height, fill: `var(--chart-${color})` });
    });
  });
  return shape("svg", { class: "tokens", viewBox: "0 0 600 132", preserveAspectRatio: "none", role: "img", "aria-label": words }, ...bars,
    shape("line", { x1: 0, x2: 600, y1: 130.5, y2: 130.5, stroke: "var(--chart-muted)" }));
}

function filesPart(trial) {
  if (!state.table.has_files || !trial.files.length) return [];
  const links = drawn(trial.files, (path) => element("li", {}, element("a", { href: path.split("/").map(encodeURIComponent).join("/") }, path)));
  return [heading("Files"), element("p", { class: "note" }, "All of it, uncut, in the folder of the run:"), element("ul", {}, ...links)];
}

// --- search in a trial ---

function searchBox() {
  const result = element("span", { role: "status", class: "note" }, "");
  const found = { marks: [], at: -1 };
  const input = element("input", {
    type: "search", id: "trial-search", autocomplete: "off",
    input: () => { found.marks = markText(input.value); found.at = -1; step(1); },
    keydown: (event) => { if (event.key === "Enter") step(event.shiftKey ? -1 : 1); },
  });
  function step(by) {
    found.marks[found.at]?.classList.remove("now");
    if (found.marks.length) {
      found.at = (found.at + by + found.marks.length) % found.marks.length;
      const mark = found.marks[found.at];
      for (let parent = mark.closest("details"); parent; parent = parent.parentElement.closest("details")) parent.open = true;
      mark.classList.add("now");
      mark.scrollIntoView({ block: "center" });
    }
    result.textContent = input.value ? `${found.marks.length ? found.at + 1 : 0} of ${found.marks.length}` : "";
  }
  return element("label", {}, "Search in this trial (Enter: next)", input, result);
}

/** Mark at most 1,000 places in the passages of the trial; return the marks. */
function markText(query) {
  const view = byId("trial");
  for (const pre of view.querySelectorAll("pre.marked")) {
    for (const mark of pre.querySelectorAll("mark")) mark.replaceWith(mark.textContent);
    pre.normalize();
    pre.classList.remove("marked");
  }
  if (!query) return [];
  const marks = [];
  const pattern = new RegExp(query.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "giu");
  for (const pre of view.querySelectorAll("pre")) {
    const texts = document.createTreeWalker(pre, NodeFilter.SHOW_TEXT);
    const nodes = [];
    while (texts.nextNode()) nodes.push(texts.currentNode);
    for (const node of nodes) if (marks.length < 1000) marks.push(...markNode(node, pattern, 1000 - marks.length));
    if (pre.querySelector("mark")) pre.classList.add("marked");
  }
  return marks;
}

function markNode(node, pattern, most) {
  const places = [...node.data.matchAll(pattern)].slice(0, most);
  const marks = places.map((match) => element("mark", {}, match[0]));
  const parts = places.flatMap((match, at) => {
    const from = at ? places[at - 1].index + places[at - 1][0].length : 0;
    return [node.data.slice(from, match.index), marks[at]];
  });
  const last = places.at(-1);
  if (last) node.replaceWith(...parts, node.data.slice(last.index + last[0].length));
  return marks;
}

// --- addresses ---

/** Return the named parts of the address after `#`; none if it is an anchor. */
function partsOfAddress() {
  if (!location.hash.includes("=")) return {};
  try {
    return Object.fromEntries(location.hash.slice(1).split("&").map((part) => part.split("=", 2).map(decodeURIComponent)));
  } catch { return {}; }
}

async function route() {
  const { cell, line, compare, with: other } = partsOfAddress();
  if (cell !== undefined) return showTrial(cell, line);
  if (compare !== undefined) return showComparison(compare, other);
  state.cell = null;
  if (byId("report").hidden) {
    byId("trial").hidden = true;
    byId("trial").replaceChildren();
    byId("report").hidden = false;
  }
  const target = location.hash.length > 1 ? byId(location.hash.slice(1)) : null;
  target?.scrollIntoView();
}

async function start() {
  setUpTheme();
  setUpTable(await decode(globalThis.scyllaData ?? byId("rows").textContent));
  addEventListener("hashchange", route);
  if (location.hash) await route();
  document.documentElement.dataset.ready = "true";
}

start();
