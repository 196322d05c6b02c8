/** A full disk: the database is on a small tmpfs, which a large file fills up under load. */
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startTestServer, type TestServer } from "../harness/database.ts";
import { needs, pathOf } from "../harness/foreign.ts";
import { deliverInbound, enableReceiving, eventsOfType, type InboundTestbed } from "../harness/inbound.ts";
import type { Load } from "../harness/ledger.ts";
import { senderDomain, startTestbed, type Testbed } from "../harness/testbed.ts";
import { type Findings, type Progress, underLoad } from "../harness/under-load.ts";
import { until } from "../harness/wait.ts";

/** False if a small disk can be mounted, otherwise the skip reason. */
export const withoutMount: string | false =
  process.platform === "linux" && process.getuid?.() === 0
    ? needs("mount")
    : "only root may mount a small disk (tmpfs)";

const diskMiB = 224;
/** Larger than the free space in existing pages, so that every email needs a new page. */
const bodyBytes = 60_000;

export async function fillDisk(times: number, progress: Progress): Promise<Findings> {
  const disk = await mountSmallDisk();
  try {
    const server = await startTestServer(disk);
    const start = async () => {
      const testbed = await startTestbed({ server });
      await enableReceiving(testbed, senderDomain);
      return Object.assign(testbed, { smtpPort: testbed.program.ports.smtp! });
    };
    try {
      const inbound = { accepted: [] as string[], deferred: [] as string[] };
      const found = await underLoad<InboundTestbed>(
        { start, load: { pauseMs: 100, body: randomBytes(bodyBytes / 2).toString("hex") } },
        async ({ testbed, load, injectFault, whenSettled }) => {
          whenSettled(() => lostMessages(testbed, inbound.accepted));
          whenSettled(() => missingLogLines(testbed));
          for (let i = 1; i <= times; i++) {
            const ballast = join(disk, "ballast");
            await injectFault(
              async () => {
                await fill(ballast);
                if (i % 2 === 0) await endLogSegment(testbed, server);
              },
              async () => {
                const before = { refusals: load.refusals(), deferred: inbound.deferred.length };
                await until("rejected calls and deferred mail", async () => {
                  await fill(ballast);
                  const subject = `message ${i} ${inbound.accepted.length + inbound.deferred.length}`;
                  await deliverInbound(testbed, { to: `us@${senderDomain}`, raw: messageWith(subject) }).then(
                    () => inbound.accepted.push(subject),
                    (error: Error) => inbound.deferred.push(error.message),
                  );
                  return load.refusals() >= before.refusals + 5 && inbound.deferred.length >= before.deferred + 3;
                });
                progress(`${i} of ${times}: ${load.refusals() - before.refusals} calls answered with unavailable`);
                // In every second round PostgreSQL has ended, so it cannot tell why.
                if (i % 2 === 1) await untilTold(testbed, load, ballast);
                else await until("a node that is not ready", async () => (await databaseState(testbed)) !== "ok");
                await rm(ballast);
                await until("a ready node", async () => (await databaseState(testbed)) === "ok");
              },
              "repair",
            );
          }
        },
      );
      const replies = inbound.deferred.map((text) => /4\d\d \d\.\d\.\d/.exec(text)?.[0] ?? text);
      const unexpected = replies.filter((reply) => !/^(452 4\.3\.1|451 4\.3\.0)$/.test(reply));
      const kinds = [...new Set(replies)]
        .sort()
        .map((kind) => `${replies.filter((reply) => reply === kind).length} × ${kind}`);
      return {
        ...found,
        broken: [...found.broken, ...unexpected.map((reply) => `inbound mail was rejected with ${reply}`)],
        note: `inbound mail deferred: ${kinds.join(", ")}`,
      };
    } finally {
      await server.stop();
    }
  } finally {
    unmount(disk);
    await rm(disk, { recursive: true, force: true });
  }
}

/** Waits until the caller and /readyz say that the disk is full. The ballast takes the space that PostgreSQL frees meanwhile. */
async function untilTold(testbed: Testbed, load: Load, ballast: string): Promise<void> {
  const body = randomBytes(bodyBytes / 2).toString("hex");
  await until("an answer and a state that name the full disk", async () => {
    await fill(ballast);
    const key = `full-${randomBytes(6).toString("hex")}`;
    const to = [`${key}@there.test`];
    const { status, body: answer } = await testbed.send({ to, subject: key, body, async: true });
    if (status === 200) load.ledger.set(key, { id: answer.id as string, to, sentAtMs: performance.now() });
    const told = /^The disk of the database is full, so nothing was stored\./.test(String(answer.message));
    return told && (await databaseState(testbed)) === "disk full";
  });
}

async function databaseState(testbed: Testbed): Promise<string> {
  const { checks } = (await (await fetch(`${testbed.program.opsUrl}/readyz`)).json()) as {
    checks: { database: string };
  };
  return checks.database;
}

function missingLogLines(testbed: Testbed): string[] {
  const lines = testbed.program
    .output()
    .split("\n")
    .filter((line) => line.includes('"database":"disk full"'));
  const missing = [];
  if (!lines.some((line) => line.includes("Free space on the disk")))
    missing.push("the log does not name the full disk");
  if (!lines.some((line) => line.includes("works again")))
    missing.push("the log does not say that the disk has space again");
  return missing;
}

/** Makes PostgreSQL exit. If a table cannot grow, one statement fails; if the write-ahead log cannot grow, the server exits and
 * cannot restart until space is free. */
async function endLogSegment(testbed: Testbed, server: TestServer): Promise<void> {
  const pid = server.pid();
  await until("the server to exit", async () => {
    await testbed.database
      .sql`select pg_switch_wal(), pg_logical_emit_message(true, 'fault', repeat('x', 10000))`.catch(() => {});
    return server.pid() !== pid;
  });
}

async function lostMessages(testbed: Testbed, accepted: readonly string[]): Promise<string[]> {
  const seen = new Set(eventsOfType(await testbed.events(), "email.received").map(({ subject }) => subject));
  return accepted.filter((subject) => !seen.has(subject)).map((subject) => `inbound ${subject} was accepted and lost`);
}

const messageWith = (subject: string) => `From: Ann <ann@there.test>
To: us@sender.test
Subject: ${subject}
Message-ID: <${subject.replaceAll(" ", ".")}@there.test>

${`${"A line of a longer mail. ".repeat(3)}\n`.repeat(3000)}`;

export async function mountSmallDisk(): Promise<string> {
  const disk = await mkdtemp(join(tmpdir(), "posthorn-small-disk-"));
  const { status, stderr } = spawnSync(pathOf("mount"), ["-t", "tmpfs", "-o", `size=${diskMiB}m`, "tmpfs", disk], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`cannot mount a small disk: ${stderr}`);
  // Also after Ctrl-C.
  process.once("exit", () => unmount(disk));
  await chmod(disk, 0o711);
  return disk;
}

export function unmount(disk: string): void {
  spawnSync("umount", ["-l", disk]);
}

/** Appends to the file until the disk is full. */
async function fill(path: string): Promise<void> {
  const file = await open(path, "a");
  try {
    for (const size of [1024 * 1024, 4096]) {
      const chunk = Buffer.alloc(size);
      for (;;) if ((await file.write(chunk).catch(fullOrThrow)) === undefined) break;
    }
  } finally {
    await file.close();
  }
}

function fullOrThrow(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOSPC") throw error;
  return undefined;
}
