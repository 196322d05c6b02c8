/** posthorn demo: the whole loop on one machine without the internet, told as a story. All of it is real: DNS, SMTP, TLS, PostgreSQL. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Command, table } from "../command.ts";
import { untilAborted } from "../stop-signal.ts";
import { colour } from "../terminal.ts";
import { chapters, type Stage } from "./demo-chapters.ts";
import { startDemoWorld } from "./demo-world.ts";

export const demo: Command = {
  name: "demo",
  summary:
    "Show the whole loop on this machine: domain, DNS, send, delivery, retry, bounce, reply, events. Half a minute at most.",
  options: {},
  async run({ stop }) {
    say("");
    say(`${colour("bold", "Posthorn, from nothing to a reply.")} It needs no internet and leaves nothing behind.`);
    const dataDir = await mkdtemp(join(tmpdir(), "posthorn-demo-"));
    const world = await startDemoWorld();
    const stage: Stage = { world, dataDir, events: [], say: tell };
    const done = await play(stage, stop).finally(async () => {
      await stage.stream?.stop();
      await (await stage.starting?.catch(() => undefined))?.stop();
      await world.stop();
      await rm(dataDir, { recursive: true, force: true });
    });
    say(`\n${table([["", "STEP", "TIME", ""], ...done.map(row)], "")}`);
    const good = done.every(({ result }) => result === "done");
    const seconds = done.reduce((sum, { tookMs }) => sum + tookMs, 0) / 1000;
    say(
      good
        ? `All ${done.length} steps done in ${seconds.toFixed(1)} s. Your turn: npm start`
        : stop.aborted
          ? `The demo was interrupted at step ${done.length} and removed its data.`
          : `The demo stopped at step ${done.length}. Please report it with the lines above.`,
    );
    // All of ours is closed; whatever a library may still hold must not keep the process alive.
    process.exit(good ? 0 : 1);
  },
};

type Done = { title: string; result: "done" | "failed"; tookMs: number };

/** Chapter after chapter, up to the first that fails. */
async function play(stage: Stage, interrupted: AbortSignal): Promise<Done[]> {
  const done: Done[] = [];
  for (const { title, play: chapter } of chapters) {
    say(`\n${colour("bold", `${String(done.length + 1).padStart(2)}  ${title}`)}`);
    const began = performance.now();
    const end = (result: Done["result"]) => done.push({ title, result, tookMs: performance.now() - began });
    try {
      await Promise.race([chapter(stage), failure(interrupted)]);
      end("done");
    } catch (error) {
      end("failed");
      tell(colour("red", interrupted.aborted ? "interrupted" : ((error as Error).stack ?? String(error))));
      return done;
    }
  }
  return done;
}

/** A chapter takes a second or two. On a machine that is busy with other work it may take a hundred times that; longer means a fault. */
const chapterMs = 120_000;

function failure(interrupted: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    void untilAborted(interrupted).then(() => reject(new Error("interrupted")));
    setTimeout(() => reject(new Error(`not done within ${chapterMs / 1000} s`)), chapterMs).unref();
  });
}

function row({ title, result, tookMs }: Done, index: number): string[] {
  const time = `${(tookMs / 1000).toFixed(1)} s`.padStart(6);
  return [
    String(index + 1).padStart(2),
    title,
    time,
    result === "done" ? colour("green", "ok") : colour("red", "failed"),
  ];
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function tell(line: string): void {
  say(`    ${line}`);
}
