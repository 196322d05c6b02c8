/** A disk without room: the database on a small disk of its own, which a file that nobody wants fills up under load. */
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startTestServer, type TestServer } from "../harness/database.ts";
import { needs, pathOf } from "../harness/foreign.ts";
import { bring, type InboundWorld, receives, told } from "../harness/inbound.ts";
import { type Findings, type Say, underLoad } from "../harness/under-load.ts";
import { until } from "../harness/wait.ts";
import { senderDomain, startWorld, type World } from "../harness/world.ts";

/** False to run, or the reason why it cannot be done. */
export const withoutMount: string | false =
  process.platform === "linux" && process.getuid?.() === 0
    ? needs("mount")
    : "only root may mount a small disk (tmpfs)";

const diskMiB = 224;
/** More than the free room in pages that are there already. */
const bodyBytes = 60_000;

export async function fillDisk(times: number, say: Say): Promise<Findings> {
  const place = await mountSmallDisk();
  try {
    const server = await startTestServer(place);
    const start = async () => {
      const world = await startWorld({ server });
      await receives(world, senderDomain);
      return Object.assign(world, { smtpPort: world.program.ports.smtp! });
    };
    try {
      const letters = { taken: [] as string[], putOff: [] as string[] };
      const found = await underLoad<InboundWorld>(
        { start, load: { pauseMs: 100, body: randomBytes(bodyBytes / 2).toString("hex") } },
        async ({ world, load, strike, atRest }) => {
          atRest(() => lostLetters(world, letters.taken));
          for (let i = 1; i <= times; i++) {
            const ballast = join(place, "ballast");
            await strike(
              async () => {
                await fill(ballast);
                if (i % 2 === 0) await endLogSegment(world, server);
              },
              async () => {
                const before = { refusals: load.refusals(), putOff: letters.putOff.length };
                await until("calls and mail that are turned away", async () => {
                  await fill(ballast);
                  const subject = `letter ${i} ${letters.taken.length + letters.putOff.length}`;
                  await bring(world, { to: `us@${senderDomain}`, raw: letter(subject) }).then(
                    () => letters.taken.push(subject),
                    (error: Error) => letters.putOff.push(error.message),
                  );
                  return load.refusals() >= before.refusals + 5 && letters.putOff.length >= before.putOff + 3;
                });
                say(`${i} of ${times}: ${load.refusals() - before.refusals} calls answered with unavailable`);
                await rm(ballast);
              },
              "mending",
            );
          }
        },
      );
      const words = letters.putOff.map((text) => /4\d\d \d\.\d\.\d/.exec(text)?.[0] ?? text);
      const strange = words.filter((word) => !/^(452 4\.3\.1|451 4\.3\.0)$/.test(word));
      const kinds = [...new Set(words)]
        .sort()
        .map((kind) => `${words.filter((word) => word === kind).length} × ${kind}`);
      return {
        ...found,
        broken: [...found.broken, ...strange.map((word) => `inbound mail was refused with ${word}`)],
        note: `inbound put off: ${kinds.join(", ")}`,
      };
    } finally {
      await server.stop();
    }
  } finally {
    unmount(place);
    await rm(place, { recursive: true, force: true });
  }
}

/** Tables without room fail one statement; a write-ahead log without room ends the server, which cannot come back before there is some. */
async function endLogSegment(world: World, server: TestServer): Promise<void> {
  const pid = server.pid();
  await until("the server to give up", async () => {
    await world.database.sql`select pg_switch_wal(), pg_logical_emit_message(true, 'fault', repeat('x', 10000))`.catch(
      () => {},
    );
    return server.pid() !== pid;
  });
}

async function lostLetters(world: World, taken: readonly string[]): Promise<string[]> {
  const seen = new Set(told(await world.events(), "email.received").map(({ subject }) => subject));
  return taken.filter((subject) => !seen.has(subject)).map((subject) => `the ${subject} was taken and is gone`);
}

const letter = (subject: string) => `From: Ann <ann@there.test>
To: us@sender.test
Subject: ${subject}
Message-ID: <${subject.replaceAll(" ", ".")}@there.test>

${`${"A line of a longer letter. ".repeat(3)}\n`.repeat(3000)}`;

export async function mountSmallDisk(): Promise<string> {
  const place = await mkdtemp(join(tmpdir(), "posthorn-small-disk-"));
  const { status, stderr } = spawnSync(pathOf("mount"), ["-t", "tmpfs", "-o", `size=${diskMiB}m`, "tmpfs", place], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`cannot mount a small disk: ${stderr}`);
  // Also where somebody presses Ctrl-C.
  process.once("exit", () => unmount(place));
  await chmod(place, 0o711);
  return place;
}

export function unmount(place: string): void {
  spawnSync("umount", ["-l", place]);
}

/** To the last page, also what has become free since. */
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
