// Two trials of one scenario next to each other, by different arms or repetitions. The address names both.

const comparisonOf = (left, right) => `#compare=${encodeURIComponent(left)}&with=${encodeURIComponent(right)}`;
const trialName = (row) => `${state.table.arms[row.arm] ?? row.arm}, repetition ${row.repetition}`;

/** Return the row that a trial is compared with at first: the same repetition of another arm, else any other trial. */
function counterpart(row) {
  const others = state.table.rows.filter((other) => other.scenario === row.scenario && other !== row);
  return others.find((other) => other.arm !== row.arm && other.repetition === row.repetition)
    ?? others.find((other) => other.arm !== row.arm) ?? others[0];
}

function comparisonLink(row, words) {
  const other = state.table.is_site || !row ? undefined : counterpart(row);
  return other ? element("a", { href: comparisonOf(cellOf(row), cellOf(other)) }, words) : null;
}

async function showComparison(leftCell, rightCell) {
  const rows = [rowOf(leftCell), rowOf(rightCell)];
  const back = element("a", { href: "#trials" }, "← All trials");
  if (rows.includes(undefined) || rows[0].scenario !== rows[1].scenario) {
    return showView(element("nav", { class: "tools", "aria-label": "Comparison" }, back),
      element("p", {}, "This run has no such two trials of one scenario."));
  }
  const trials = await Promise.all(rows.map((row) => recordsOf(cellOf(row))));
  const task = trials.find((trial) => trial?.task);
  showView(comparisonTools(back, rows), element("h1", { id: "trial-name" }, `${rows[0].scenario}: two trials`),
    ...(task ? taskPart(task) : []), heading("Result"), pairOf(rows, trials, (trial) => [facts(trial)]),
    ...scoresPart(rows, trials),
    ...[["Conversations", conversationPart], ["Diffs", diffPart], ["Judges", (trial) => judgesPart(trial).slice(1)]].flatMap(
      ([name, part]) => trials.some((trial) => trial && part(trial).length) ? [heading(name), pairOf(rows, trials, part)] : []));
}

/** Make the choice of scenario and both trials; a change leads to another address. */
function comparisonTools(back, [left, right]) {
  const all = state.table.rows;
  const scenarios = [...new Set(all.map((row) => row.scenario))];
  const options = all.filter((row) => row.scenario === left.scenario).map((row) => [cellOf(row), `${trialName(row)}: ${STATUSES[row.status]}`]);
  const open = (first, second) => { location.hash = comparisonOf(first, second); };
  const choice = (label, chosen, entries, change) => element("label", {}, label, element("select", { change: (event) => change(event.target.value) },
    ...entries.map(([value, words]) => element("option", { value, selected: value === chosen ? "" : null }, words))));
  return element("nav", { class: "tools", "aria-label": "Comparison" }, back,
    choice("Scenario", left.scenario, scenarios.map((name) => [name, name]), (name) => {
      const first = all.find((row) => row.scenario === name && row.arm === left.arm) ?? all.find((row) => row.scenario === name);
      const second = all.find((row) => row.scenario === name && row.arm === right.arm && row !== first) ?? counterpart(first) ?? first;
      open(cellOf(first), cellOf(second));
    }),
    choice("Left", cellOf(left), options, (cell) => open(cell, cellOf(right))),
    choice("Right", cellOf(right), options, (cell) => open(cellOf(left), cell)));
}

/** Make two columns, which stand below each other on a narrow screen, each with the name and the result of its trial. */
function pairOf(rows, trials, part) {
  return element("div", { class: "pair" }, ...rows.map((row, at) => element("div", {},
    element("p", { class: "side" }, element("span", { class: `status ${row.status}` }, MARKS[row.status]), " ",
      element("a", { href: addressOf(row) }, trialName(row))),
    ...(trials[at] ? part(trials[at]).map((node) => node.tagName === "H2" ? element("h3", {}, node.textContent) : node)
      : [missingTrial(row)]))));
}

/** Make tables of checks and rubric items with the results of both trials; equal results are folded. */
function scoresPart(rows, trials) {
  const [left, right] = trials.map((trial) => trial ? outcomesOf(trial) : new Map());
  const names = [...new Set([...left.keys(), ...right.keys()])];
  const lines = names.map((name) => {
    const [one, two] = [left.get(name), right.get(name)];
    return [element("span", {}, `${name} `, element("span", { class: "text" }, (one ?? two).words)), one?.result ?? "-", two?.result ?? "-"];
  });
  const table = (differ, label) => {
    const shown = lines.filter((line) => (line[1] !== line[2]) === differ);
    return shown.length ? tableOf(["check or item", ...rows.map(trialName)], shown, label) : null;
  };
  const [differing, equal] = [table(true, "Differing checks and items"), table(false, "Equal checks and items")];
  return [heading(`Checks and rubric: ${count(lines.filter((line) => line[1] !== line[2]).length)} of ${count(lines.length)} differ`),
    differing, equal ? element("details", { class: "check" }, element("summary", {}, "Checks and items with equal results"), equal) : null]
    .filter((part) => part !== null && lines.length);
}

function outcomesOf(trial) {
  return new Map([
    ...trial.checks.filter((check) => !check.cut).map((check) => [check.id, { words: check.what, result: check.holds ? "✓ holds" : isCondition(check) ? "– does not hold" : "✗ fails" }]),
    ...trial.items.filter((item) => !item.cut).map((item) => [item.id, { words: item.text, result: pointsOf(item) }]),
  ]);
}
