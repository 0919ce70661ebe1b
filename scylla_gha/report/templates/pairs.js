// Two arms side by side, scenario by scenario: counts only, since a verdict takes the statistics of the report.

const rate = ([passed, judged]) => judged ? passed / judged : null;
const percent = (value) => unknown(value) ? "-" : `${(100 * value).toFixed(0)} %`;
const points = (value) => unknown(value) ? "-" : `${value > 0 ? "+" : ""}${(100 * value).toFixed(1)}`;

function setUpPairs(data) {
  const selects = [byId("pair-first"), byId("pair-second")];
  for (const select of selects) select.append(...data.arms.map((name, at) => element("option", { value: String(at) }, name)));
  selects[0].value = String(data.first);
  selects[1].value = String(data.first === 0 ? 1 : 0);
  const draw = () => drawPair(data, ...selects.map((select) => Number(select.value)));
  byId("pair").addEventListener("input", draw);
  byId("pair").addEventListener("submit", (event) => event.preventDefault());
  draw();
}

function drawPair(data, first, second) {
  const rows = data.scenarios.map((scenario, at) => {
    const counts = [data.passed[at][first], data.passed[at][second]];
    const [before, after] = counts.map(rate);
    return { scenario, counts, change: before === null || after === null ? null : after - before };
  });
  const paired = rows.filter((row) => row.change !== null);
  const mean = paired.length ? paired.reduce((sum, row) => sum + row.change, 0) / paired.length : null;
  const [won, lost] = [1, -1].map((sign) => paired.filter((row) => Math.sign(row.change) === sign).length);
  byId("pair-summary").textContent = `${counted(paired.length, "scenario")} of both: the second arm wins ${won}, ties `
    + `${paired.length - won - lost}, loses ${lost}; mean change ${points(mean)} points`;
  rows.sort((left, right) => Math.abs(right.change ?? -1) - Math.abs(left.change ?? -1));
  const head = ["scenario", data.arms[first], data.arms[second], "change in points"].map((name) => element("th", { scope: "col" }, name));
  const cell = (counts) => element("td", {}, counts[1] ? `${counts[0]}/${counts[1]} (${percent(rate(counts))})` : "-");
  byId("pair-table").replaceChildren(element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows.map((row) =>
    element("tr", {}, element("th", { scope: "row" }, row.scenario), ...row.counts.map(cell), element("td", {}, points(row.change))))));
}

async function startPairs() {
  setUpTheme();
  setUpPairs(await decode(globalThis.scyllaData));
  document.documentElement.dataset.ready = "true";
}

startPairs();
