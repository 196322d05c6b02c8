import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { freePort } from "./free-port.ts";

const run = promisify(execFile);
/** A process that reserves a tenth of all ports and prints them. */
const script = `import { freePort } from ${JSON.stringify(new URL("./free-port.ts", import.meta.url).href)};
  const ports = [];
  for (let i = 0; i < 400; i++) ports.push(await freePort());
  console.log(JSON.stringify(ports));
  process.stdin.resume();`;

test("ports of several processes never collide, even if none of them is in use yet", async (t) => {
  const own = new Set<number>();
  for (let i = 0; i < 400; i++) own.add(await freePort());
  assert.equal(own.size, 400);
  const child = run(process.execPath, ["--input-type=module", "-e", script]);
  t.after(() => child.child.kill());
  const ports = await new Promise<number[]>((resolve, reject) => {
    child.child.stdout!.once("data", (line) => resolve(JSON.parse(line) as number[]));
    child.catch(reject);
  });
  assert.equal(new Set([...own, ...ports]).size, 800);
});
