// Checks an AsyncAPI document: node asyncapi_check.mjs FILE
//
// Prints what the parser has to say, one finding a line, and exits with 1 if there is anything but
// the advice to use a newer version of AsyncAPI; else it prints what it has read, as JSON.

import { readFile } from "node:fs/promises";
import { Parser } from "@asyncapi/parser";

const [file] = process.argv.slice(2);
const { document, diagnostics } = await new Parser().parse(await readFile(file, "utf8"));
const findings = diagnostics.filter(({ code }) => code !== "asyncapi-latest-version");

for (const { code, message, path, severity } of findings) {
  console.log(`${severity} ${code} at ${path.join(".")}: ${message}`);
}
if (!document || findings.length > 0) {
  process.exit(1);
}
const operations = document.operations().all();
console.log(JSON.stringify({
  version: document.version(),
  operations: Object.fromEntries(operations.map((operation) => [
    operation.id(),
    {
      action: operation.action(),
      messages: operation.messages().all().map((message) => message.name()),
      reply: operation.reply()?.messages().all().map((message) => message.name()) ?? [],
    },
  ])),
}));
