import assert from "node:assert/strict";
import { test } from "node:test";
import { version } from "../help.ts";
import type { StartOrder } from "./messages.ts";
import { type End, startRun } from "./run.ts";

function start(order: Partial<StartOrder>) {
  const ended = Promise.withResolvers<End>();
  const run = startRun({
    order: {
      slot: 0,
      version,
      id: 1,
      part: { index: 0, of: 2 },
      run: "a run",
      databaseUrl: undefined,
      descriptors: {},
      opsPort: 0,
      ...order,
    },
    env: { PATH: process.env.PATH },
    fds: [],
    onMessage() {},
    onEnd: (_, end) => ended.resolve(end),
    onReturned() {},
  });
  return { run, ended: ended.promise };
}

test("a process of another release than its supervisor does not start, and says what to do", async () => {
  const { run, ended } = start({ version: "0.0.0-older" });
  await assert.rejects(run.started, {
    name: "ProcessFailed",
    message: `The files on disk are version ${version}, and the supervisor runs version 0.0.0-older. Stop and start the program to upgrade it.`,
  });
  assert.equal((await ended).code, 1);
});

test("a process that is killed during its start is noticed at its end", async () => {
  const { run, ended } = start({});
  process.kill(run.pid!, "SIGKILL");
  await assert.rejects(run.started, /Process 0 ended during its start \(SIGKILL\)/);
  assert.deepEqual(await ended, { code: null, signal: "SIGKILL", isHung: false });
});
