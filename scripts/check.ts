/** npm run check: everything about the tree that is judged without running the product. All steps run; each failure is named. */
import { spawnSync } from "node:child_process";

const node = process.execPath;
const steps: [name: string, command: string, args: string[]][] = [
  ["types", "tsc", ["--noEmit", "-p", "."]],
  ["types of the SDK", "tsc", ["--noEmit", "-p", "sdk"]],
  ["types of the dashboard", "tsc", ["--noEmit", "-p", "web"]],
  ["lint and format", "biome", ["ci", "--colors=off", "--error-on-warnings", "."]],
  ["import order", node, ["scripts/import-order.ts"]],
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
