/** npm run check: every static check of the checkout. All steps run, also after a failure, and failures are listed at the end. */
import { spawnSync } from "node:child_process";

const node = process.execPath;
const steps: [name: string, command: string, args: string[]][] = [
  ["types", "tsc", ["--noEmit", "-p", "."]],
  ["types of the SDK", "tsc", ["--noEmit", "-p", "sdk"]],
  ["types of the dashboard", "tsc", ["--noEmit", "-p", "web"]],
  ["lint and format", "biome", ["ci", "--colors=off", "--error-on-warnings", "."]],
  ["layout of src", node, ["scripts/import-order.ts"]],
  ["glossary", node, ["scripts/glossary.ts"]],
  ["links and lines of the docs", node, ["--test", "test/docs/links.test.ts"]],
  ["contract lint", "buf", ["lint"]],
  ["contract breaking changes", "buf", ["breaking", "--against", "proto/image.binpb"]],
  ["generated files", node, ["scripts/generate.ts", "--check"]],
  ["migrations", node, ["scripts/migrations.ts"]],
  ["schema dump", node, ["scripts/schema.ts", "--check"]],
];

const failed: string[] = [];
for (const [name, command, args] of steps) {
  const began = performance.now();
  const done = spawnSync(command, args, { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  process.stdout.write(`${done.status === 0 ? "ok    " : "FAILED"} ${name} (${seconds} s)\n`);
  if (done.status === 0) continue;
  failed.push(name);
  process.stdout.write(`${done.error?.message ?? ""}${done.stdout}${done.stderr}\n`);
}
if (failed.length > 0) {
  process.stdout.write(`\n${failed.length} of ${steps.length} checks failed: ${failed.join(", ")}\n`);
  process.exit(1);
}
process.stdout.write(`\nAll ${steps.length} checks passed.\n`);
