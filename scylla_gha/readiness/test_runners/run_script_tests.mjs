// Runs JavaScript and TypeScript tests with node:test, vitest, jest or mocha, and writes a line of JSON for each of them.
//
//   node run_script_tests.mjs (node|vitest|jest|mocha) [--option=OPTION ...] (ID ... | @FILE)
//
// OPTION is one of the framework's; an id is "file" or "file::suite > test"; @FILE: a JSON list of further arguments.
// Environment: OUTCOMES, the file that lines are appended to ({"collected": [ids]}, {"broken": file, "output"},
// {"id", "passed", "output"}); LINES, the file for the lines that each test file executes, unset: they are not
// measured; FILE_SECONDS, the time limit of a test file; SUITE_SECONDS, that of all files in one process; STOPS_LATE, set
// if no file is run after one that reached its limit.

import { spawn } from "node:child_process";
import fs from "node:fs";
import { createRequire, SourceMap } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fs.realpathSync(process.cwd());
const CHECKS = path.dirname(fileURLToPath(import.meta.url));
const OUTPUT_CHARS = 4000;
const POLL_MS = 200;
const { OUTCOMES = "outcomes.jsonl", LINES, FILE_SECONDS = "60", SUITE_SECONDS = "600", STOPS_LATE } = process.env;
const [framework, ...given] = process.argv.slice(2);
const last = given.at(-1) ?? "";
const words = last.startsWith("@")
  ? [...given.slice(0, -1), ...JSON.parse(fs.readFileSync(last.slice(1), "utf8"))]
  : given;
const options = words.filter((word) => word.startsWith("--option=")).map((word) => word.slice("--option=".length));
const ids = new Set(words.filter((word) => !word.startsWith("--option=")));
const files = [...new Set([...ids].map((id) => id.split("::")[0]))].filter((file) => fs.existsSync(file)).sort();
const [major, minor] = process.versions.node.split(".").map(Number);
const LIMITS_FILES = major > 20 || (major === 20 && minor >= 11); // node's runner can end a file
let runs = 0;

function write(line) {
  fs.appendFileSync(OUTCOMES, `${JSON.stringify(line)}\n`);
}

function relative(file) {
  const name = path.isAbsolute(file) ? path.relative(ROOT, file) : file;
  return name.split(path.sep).join("/");
}

// Starts a program of an installed package, or node itself, and waits for its end, or until `isOver` returns true.
function run(argv, seconds, extra = {}, isOver = () => false) {
  const env = { ...process.env, CI: "1", NO_COLOR: "1", FORCE_COLOR: "0", ...extra };
  for (const name of ["OUTCOMES", "LINES", "FILE_SECONDS", "SUITE_SECONDS", "STOPS_LATE"]) delete env[name];
  return new Promise((resolve) => {
    const child = spawn(process.execPath, argv, { env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    const add = (text) => (output = (output + text).slice(-OUTPUT_CHARS));
    child.stdout.on("data", add);
    child.stderr.on("data", add);
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      kill(child.pid);
    }, seconds * 1000);
    const poll = setInterval(() => isOver() && kill(child.pid), POLL_MS);
    child.on("close", () => {
      clearTimeout(timer);
      clearInterval(poll);
      kill(child.pid);
      resolve({ late, output: late ? `no end within ${seconds} s\n${output}` : output });
    });
  });
}

function kill(group) {
  try {
    process.kill(-group, "SIGKILL");
  } catch {
    // all of it has ended
  }
}

function program(name) {
  const require = createRequire(path.join(ROOT, "package.json"));
  const folders = require.resolve.paths(name) ?? [];
  const folder = folders.map((modules) => path.join(modules, name)).find((candidate) => fs.existsSync(candidate));
  if (!folder) throw new Error(`${name} is not installed`);
  const { bin } = JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8"));
  return path.join(folder, typeof bin === "string" ? bin : bin[name]);
}

function scratch(name) {
  return path.join(os.tmpdir(), `${process.pid}-${++runs}-${name}`);
}

// Each of these runs some files in one process and returns the outcomes, or null if the process left none.
const FRAMEWORKS = {
  async node(some, seconds, folder) {
    const report = scratch("report.jsonl");
    const argv = [
      ...options, "--test", `--test-reporter=${path.join(CHECKS, "node_reporter.mjs")}`,
      `--test-reporter-destination=${report}`,
      ...(LIMITS_FILES ? [`--test-timeout=${Number(FILE_SECONDS) * 1000}`] : []), ...some,
    ];
    const written = () => (fs.existsSync(report) ? fs.readFileSync(report, "utf8") : "");
    const hasLateFile = () => STOPS_LATE && written().includes('"late":true');
    const ended = await run(argv, seconds, folder ? { NODE_V8_COVERAGE: folder } : {}, hasLateFile);
    const outcomes = [];
    for (const line of written().split("\n").slice(0, -1)) outcomes.push({ file: some[0], ...JSON.parse(line) });
    return { ...ended, outcomes };
  },

  async mocha(some, seconds, folder) {
    const report = scratch("report.json");
    const argv = [program("mocha"), ...options, ...mochaConfig(), "--reporter=json", `--reporter-option=output=${report}`];
    const ended = await run([...argv, ...some], seconds, folder ? { NODE_V8_COVERAGE: folder } : {});
    if (!fs.existsSync(report)) return { ...ended, outcomes: null };
    const { tests } = JSON.parse(fs.readFileSync(report, "utf8"));
    const outcomes = tests.map(({ file, title, fullTitle, err, duration }) => {
      const suites = fullTitle.endsWith(title) ? fullTitle.slice(0, -title.length).trim() : "";
      const name = suites ? `${suites} > ${title}` : title;
      const passed = duration !== undefined && Object.keys(err).length === 0;
      return { file, name, passed, output: passed ? "" : String(err.stack ?? err.message ?? "skipped") };
    });
    return { ...ended, outcomes };
  },

  async vitest(some, seconds, folder) {
    const report = scratch("report.json");
    const argv = [program("vitest"), "run", ...options, "--reporter=json", `--outputFile=${report}`];
    if (folder) {
      argv.push("--coverage.enabled", "--coverage.provider=v8", "--coverage.reporter=json", "--coverage.all=false",
        `--coverage.reportsDirectory=${folder}`, "--coverage.thresholds.lines=0", "--coverage.reportOnFailure");
    }
    const ended = await run([...argv, ...some], seconds);
    return { ...ended, outcomes: ofJson(report) };
  },

  async jest(some, seconds, folder) {
    const report = scratch("report.json");
    const argv = [program("jest"), ...options, "--json", `--outputFile=${report}`, "--ci", "--cache=false"];
    argv.push(...(folder
      ? ["--coverage", "--coverageReporters=json", `--coverageDirectory=${folder}`, "--coverageThreshold={}"]
      : ["--coverage=false"]));
    const ended = await run([...argv, "--runTestsByPath", ...some], seconds);
    return { ...ended, outcomes: ofJson(report) };
  },
};

// Mocha adds the files that its configuration names to those of the command line, so they are taken out of it.
function mochaConfig() {
  const files = [".mocharc.json", "package.json"].filter((name) => fs.existsSync(name));
  for (const name of files) {
    const content = JSON.parse(fs.readFileSync(name, "utf8"));
    const config = name === "package.json" ? content.mocha : content;
    if (config?.spec) {
      const { spec, ...rest } = config;
      const file = scratch("mocharc.json");
      fs.writeFileSync(file, JSON.stringify(rest));
      return ["--no-package", `--config=${file}`];
    }
  }
  return [];
}

// Reads the report that vitest and jest both write.
function ofJson(report) {
  if (!fs.existsSync(report)) return null;
  const outcomes = [];
  for (const file of JSON.parse(fs.readFileSync(report, "utf8")).testResults ?? []) {
    for (const test of file.assertionResults ?? []) {
      outcomes.push({
        file: file.name,
        name: [...(test.ancestorTitles ?? []), test.title].filter(Boolean).join(" > "),
        passed: test.status === "passed",
        output: test.status === "passed" ? "" : (test.failureMessages ?? []).join("\n") || test.status,
      });
    }
    if (!file.assertionResults?.length) outcomes.push({ file: file.name, broken: file.message || "no tests" });
  }
  return outcomes;
}

// Gives each test an id; the second test of a name in a file gets a number.
function named(outcomes) {
  const seen = new Map();
  return outcomes.map((outcome) => {
    const id = `${relative(outcome.file)}::${outcome.name}`;
    const count = (seen.get(id) ?? 0) + 1;
    seen.set(id, count);
    return { ...outcome, id: count > 1 ? `${id} #${count}` : id };
  });
}

function report(run, some) {
  const outcomes = run.outcomes ?? [];
  const tests = named(outcomes.filter((outcome) => outcome.broken === undefined));
  const wanted = tests.filter(({ id, file }) => ids.has(id) || ids.has(relative(file)));
  for (const { id, passed, output } of wanted) write({ id, passed, output: output.slice(0, OUTPUT_CHARS) });
  const reached = new Set(tests.map((test) => relative(test.file)));
  for (const file of some.filter((name) => !reached.has(name))) {
    const broken = outcomes.find((outcome) => relative(outcome.file) === file)?.broken;
    write({ broken: file, output: (broken || run.output).slice(-OUTPUT_CHARS) });
  }
  return wanted.map((test) => test.id);
}

async function inParallel(some, work) {
  const waiting = [...some];
  const workers = Array.from({ length: os.availableParallelism?.() ?? 1 }, async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) await work(file);
  });
  await Promise.all(workers);
}

// Marks the characters of a text that were executed, by V8's ranges: outer ones come before those inside of them.
function marks(length, functions) {
  const executed = new Uint8Array(length).fill(1);
  for (const { ranges } of functions) {
    for (const { startOffset, endOffset, count } of ranges) executed.fill(count ? 1 : 0, startOffset, endOffset);
  }
  return executed;
}

// Executed lines of a file that runs as it is written.
function ownLines(text, functions) {
  const executed = marks(text.length, functions);
  const lines = new Set();
  let line = 1;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "\n") line++;
    else if (executed[at] && text[at].trim()) lines.add(line);
  }
  return lines;
}

// Executed lines of a file that a loader compiled.
function mappedLines({ lineLengths, data }, functions) {
  const map = new SourceMap(data);
  const executed = marks(lineLengths.reduce((sum, length) => sum + length + 1, 0), functions);
  const lines = new Set();
  let start = 0;
  lineLengths.forEach((length, line) => {
    for (let column = 0; column < length; column++) {
      const origin = executed[start + column] ? map.findEntry(line, column) : {};
      if (origin.originalLine !== undefined) lines.add(origin.originalLine + 1);
    }
    start += length + 1;
  });
  return lines;
}

function linesOfV8(folder) {
  const lines = {};
  for (const name of fs.existsSync(folder) ? fs.readdirSync(folder) : []) {
    const { result, "source-map-cache": maps = {} } = JSON.parse(fs.readFileSync(path.join(folder, name), "utf8"));
    for (const { url, functions } of result) {
      const file = url.startsWith("file://") ? fileURLToPath(url) : "";
      if (!file.startsWith(ROOT + path.sep) || file.includes("node_modules") || !fs.existsSync(file)) continue;
      const own = maps[url]?.data
        ? mappedLines(maps[url], functions)
        : ownLines(fs.readFileSync(file, "utf8"), functions);
      (lines[relative(file)] ??= []).push(...own);
    }
  }
  return lines;
}

function linesOfIstanbul(folder) {
  const report = path.join(folder, "coverage-final.json");
  const lines = {};
  for (const file of fs.existsSync(report) ? Object.values(JSON.parse(fs.readFileSync(report, "utf8"))) : []) {
    const executed = (lines[relative(file.path)] = []);
    for (const [key, { start }] of Object.entries(file.statementMap)) {
      if (file.s[key]) executed.push(start.line);
    }
  }
  return lines;
}

async function measure() {
  const record = { tests: [], files: {} };
  const collected = [];
  await inParallel(files, async (file) => {
    const folder = scratch("coverage");
    collected.push(...report(await FRAMEWORKS[framework]([file], Number(FILE_SECONDS), folder), [file]));
    const number = record.tests.push(file) - 1;
    const lines = ["node", "mocha"].includes(framework) ? linesOfV8(folder) : linesOfIstanbul(folder);
    for (const [name, executed] of Object.entries(lines)) {
      const known = (record.files[name] ??= {});
      for (const line of new Set(executed)) (known[line] ??= []).push(number);
    }
    fs.rmSync(folder, { recursive: true, force: true });
  });
  fs.writeFileSync(LINES, JSON.stringify(record));
  return collected;
}

async function main() {
  if (!files.length) return write({ collected: [] });
  if (LINES) return write({ collected: await measure() });
  if (framework !== "node" || LIMITS_FILES || files.length === 1) {
    const whole = await FRAMEWORKS[framework](files, Number(SUITE_SECONDS));
    if (whole.outcomes !== null || files.length === 1 || (whole.late && STOPS_LATE)) return write({ collected: report(whole, files) });
  }
  const collected = [];
  await inParallel(files, async (file) => {
    collected.push(...report(await FRAMEWORKS[framework]([file], Number(FILE_SECONDS)), [file]));
  });
  return write({ collected });
}

await main().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
