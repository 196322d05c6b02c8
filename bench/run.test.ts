import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after } from "node:test";
import { fileURLToPath } from "node:url";
import { sizes } from "./lib/plan.ts";

const script = fileURLToPath(new URL("./run.ts", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "posthorn-bench-run-"));
after(() => rmSync(folder, { recursive: true }));

function run(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], { encoding: "utf8" });
  return { status, stdout, stderr };
}

test("the help names every bench, and each has a planned duration", () => {
  const { status, stdout } = run("--help");
  assert.equal(status, 0);
  const names = [...stdout.matchAll(/^ {2}(\w+) {2,}\S/gm)].map(([, name]) => name!);
  for (const name of Object.keys(sizes)) assert.ok(names.includes(name), name);
});

test("wrong arguments are explained", () => {
  for (const [args, message] of [
    [["sent"], /There is no bench sent\. Benches: http, send,/],
    [["--fast"], /Unknown option '--fast'/],
    [["send", "--scale", "0"], /--scale 0: must be a number above 0/],
    [["send", "--from", "rows.json"], /--from measures nothing\. Leave out send\./],
    [["--from", join(folder, "missing.json")], /--from: .*no such file.*missing\.json/],
  ] as const) {
    const { status, stderr } = run(...args);
    assert.equal(status, 2, args.join(" "));
    assert.match(stderr, message);
  }
});

test("rows of an earlier run are printed with the summary of their targets, or as JSON", () => {
  const file = join(folder, "rows.json");
  const row = { what: "rate", value: 90, unit: "/s", baseline: { what: "limit", value: 100 }, least: 0.8 };
  writeFileSync(file, JSON.stringify({ send: [row] }));
  const { status, stdout } = run("--from", file);
  assert.equal(status, 0);
  assert.match(stdout, /rate +90 \/s +90 % of 100: limit +target met, at least 80 %/);
  assert.match(stdout, /1 of 1 targets are met\./);
  assert.deepEqual(JSON.parse(run("--from", file, "--json").stdout), { send: [{ ...row, ratio: 0.9, target: "met" }] });
});
