// Reporter of node:test: a line of JSON for each test, {"file", "name", "passed", "output"}, with the names of suites first;
// and for a file that has no test, {"file", "broken": error}, with "late": true if it reached its time limit.
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const CHARS = 4000;

function failure(details) {
  const error = details?.error?.cause ?? details?.error;
  return String(error?.stack ?? error?.message ?? error ?? "failed").slice(0, CHARS);
}

// Older versions report a file as a test around its tests.
function isFile(name) {
  return path.isAbsolute(name) && fs.existsSync(name);
}

export default async function* report(source) {
  const names = [];
  const errors = new Map();
  for await (const { type, data } of source) {
    if (type === "test:start") {
      names.length = data.nesting;
      names.push(data.name);
    }
    if (type === "test:stderr" && data.file) {
      errors.set(data.file, ((errors.get(data.file) ?? "") + data.message).slice(0, CHARS));
    }
    const ended = type === "test:pass" || type === "test:fail";
    if (ended && isFile(data.name)) {
      const late = data.details?.error?.failureType === "testTimeoutFailure" ? { late: true } : {};
      const broken = late.late ? failure(data.details) : (errors.get(data.name) ?? failure(data.details));
      yield `${JSON.stringify({ file: data.name, broken, ...late })}\n`;
    }
    if (!ended || isFile(data.name) || data.details?.type === "suite") continue;
    const skipped = data.skip !== undefined || data.todo !== undefined;
    yield `${JSON.stringify({
      ...(data.file ? { file: data.file.startsWith("file:") ? fileURLToPath(data.file) : data.file } : {}),
      name: [...names.slice(0, data.nesting).filter((name) => !isFile(name)), data.name].join(" > "),
      passed: type === "test:pass" && !skipped,
      output: type === "test:pass" ? (skipped ? "skipped" : "") : failure(data.details),
    })}\n`;
  }
}
