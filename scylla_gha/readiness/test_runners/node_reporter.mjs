// Reporter of node:test: a line of JSON for each test, {"file", "name", "passed", "output"}; names of suites come first.
const CHARS = 4000;

function failure(details) {
  const error = details?.error?.cause ?? details?.error;
  return String(error?.stack ?? error?.message ?? error ?? "failed").slice(0, CHARS);
}

export default async function* report(source) {
  const names = [];
  for await (const { type, data } of source) {
    if (type === "test:start") {
      names.length = data.nesting;
      names.push(data.name);
    }
    const ended = type === "test:pass" || type === "test:fail";
    if (!ended || !data.file || data.name === data.file || data.details?.type === "suite") continue;
    const skipped = data.skip !== undefined || data.todo !== undefined;
    yield `${JSON.stringify({
      file: data.file,
      name: [...names.slice(0, data.nesting), data.name].join(" > "),
      passed: type === "test:pass" && !skipped,
      output: type === "test:pass" ? (skipped ? "skipped" : "") : failure(data.details),
    })}\n`;
  }
}
