import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import { until } from "../../test/harness/wait.ts";

const module = new URL("./stop-signal.ts", import.meta.url).href;

/** Listens for signals like the program, and keeps running until a second signal ends it. */
const script = `
  const { listenForStop, untilAborted } = await import(${JSON.stringify(module)});
  const stop = listenForStop();
  setInterval(() => {}, 1000);
  process.stdin.on("data", () => process.stdout.write("answer "));
  process.stdout.write("ready ");
  await untilAborted(stop);
  process.stdout.write("stopping ");
`;

/** A repeat arrives, and then the event loop is blocked for longer than `repeatMs`. */
const busy = `
  process.kill(process.pid, "SIGTERM");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
  process.stdout.write("awake ");
`;

function listen(afterwards = "") {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script + afterwards], { stdio: "pipe" });
  const seen = { output: "", code: undefined as number | string | null | undefined };
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (seen.output += chunk));
  child.once("close", (code, signal) => (seen.code = signal ?? code));
  const shows = (text: string) => until(text, () => seen.output.includes(text) || seen.code !== undefined);
  return { child, seen, shows };
}

test("repeats of the first signal are ignored, and a later signal ends the process with a message", async (t) => {
  const { child, seen, shows } = listen();
  t.after(() => child.kill("SIGKILL"));
  await shows("ready");
  for (const signal of ["SIGINT", "SIGTERM", "SIGINT"] as const) child.kill(signal);
  await shows("stopping");
  child.stdin.write("hello");
  await shows("answer");
  assert.equal(seen.code, undefined, seen.output);
  await until("the end", () => {
    if (seen.code === undefined) child.kill("SIGTERM");
    return seen.code !== undefined;
  });
  assert.equal(seen.code, 1);
  assert.match(seen.output, /A second SIGTERM ended Posthorn at once/);
});

test("a repeat that a busy process handles late still counts as a repeat", async (t) => {
  const { child, seen, shows } = listen(busy);
  t.after(() => child.kill("SIGKILL"));
  await shows("ready");
  child.kill("SIGINT");
  await shows("awake");
  child.stdin.write("hello");
  await shows("answer");
  assert.equal(seen.code, undefined, seen.output);
});
