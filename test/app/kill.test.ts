/** kill -9 of the program and of its PostgreSQL in turn, under writes: every acknowledged row is there, and no call hangs. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { call, newDataDir, type RunningProgram, startProgram } from "../harness/program.ts";
import { patienceMs, until } from "../harness/wait.ts";

/** The third round kills one session of PostgreSQL, the others the whole server. */
const rounds = 3;
const writers = 4;
/** Writes acknowledged between two kills: several per writer, so that every kill happens during writes. */
const writesBetween = 12;
/** No call may take longer, whichever process is killed. */
const hangsAfterMs = patienceMs / 2;

let program: RunningProgram;
after(async () => await program?.remove());

it("keeps every acknowledged row through three kills of the program and three of its database", async () => {
  const dataDir = await newDataDir();
  program = await startProgram({ dataDir });
  const { key, url } = program;
  // Every start uses the same port, so that clients reach the program again.
  const env = { POSTHORN_HTTP: `127.0.0.1:${program.ports.http}` };

  const acknowledged = new Set<string>();
  const wrong: string[] = [];
  let refused = 0;
  let writing = true;
  async function write(writer: number): Promise<void> {
    for (let n = 0; writing; n++) {
      const request = { name: `writer ${writer}, key ${n}`, permission: "KEY_PERMISSION_READ" };
      const signal = AbortSignal.timeout(hangsAfterMs);
      const answer = await call(url, "KeyService/CreateKey", request, { key, signal }).catch((error: Error) => error);
      if (answer instanceof Error) {
        // fetch throws a TypeError if the connection was refused or lost. No other error is expected.
        if (answer.name !== "TypeError") wrong.push(`${answer.name}: ${answer.message}`);
        refused++;
      } else if (answer.status === 200) {
        acknowledged.add((answer.body.key as { id: string }).id);
      } else {
        if (answer.body.code !== "unavailable") wrong.push(JSON.stringify(answer.body));
        refused++;
      }
      // Back off after a failure, so that retries do not slow down the restart.
      await delay(answer instanceof Error || answer.status !== 200 ? 100 : 10);
    }
  }
  const load = Array.from({ length: writers }, (_, i) => write(i));
  const moreWrites = async (when: string) => {
    const before = acknowledged.size;
    await until(`writes ${when}`, () => wrong.length > 0 || acknowledged.size >= before + writesBetween);
  };

  try {
    await moreWrites("at the start");
    for (let round = 0; round < rounds; round++) {
      await program.kill();
      program = await startProgram({ dataDir, env });
      await moreWrites(`after kill ${round} of the program`);
      const postmaster = postmasterPid(dataDir);
      // Kill the whole server, or one session, after which PostgreSQL drops all sessions and recovers by itself.
      process.kill(round % 3 === 2 ? sessionOf(postmaster) : postmaster, "SIGKILL");
      await moreWrites(`after kill ${round} of the database`);
      assert.deepEqual(wrong, []);
    }
  } finally {
    writing = false;
  }
  await Promise.all(load);

  const stored = await allKeys();
  const lost = [...acknowledged].filter((id) => !stored.has(id));
  assert.deepEqual(lost, []);
  assert.deepEqual(wrong, []);
  assert.ok(refused > 0, "no call failed, so the kills had no effect and the test proves nothing");
});

function postmasterPid(dataDir: string): number {
  return Number(readFileSync(join(dataDir, "postgres", "postmaster.pid"), "utf8").split("\n", 1)[0]);
}

/** The PostgreSQL process of one of the program's connections. */
function sessionOf(postmaster: number): number {
  const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, "utf8")
    .trim()
    .split(" ")
    .map(Number);
  const session = children.find((pid) => /posthorn .*\[local\]/.test(readFileSync(`/proc/${pid}/cmdline`, "utf8")));
  assert.ok(session, "PostgreSQL has no session");
  return session;
}

async function allKeys(): Promise<Set<string>> {
  const ids = new Set<string>();
  let pageToken = "";
  do {
    const { status, body } = await program.call("KeyService/ListKeys", { pageSize: 100, pageToken });
    assert.equal(status, 200);
    for (const { id } of body.data as { id: string }[]) ids.add(id);
    pageToken = body.nextPageToken as string;
  } while (pageToken !== "");
  return ids;
}
