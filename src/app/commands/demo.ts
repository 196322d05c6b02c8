/** posthorn demo: runs the steps of demo/steps.ts on one machine without internet access, with real DNS, SMTP, TLS and PostgreSQL. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "../command.ts";
import { type Cell, color, table } from "../output.ts";
import { untilAborted } from "../stop-signal.ts";
import { startDemoNetwork } from "./demo/network.ts";
import { type DemoContext, steps } from "./demo/steps.ts";

export const demo: Command = {
  name: "demo",
  summary: "Run a demo on this machine, in half a minute: domain, DNS, send, delivery, retry, bounce, reply, events.",
  options: {},
  async run({ stop }) {
    print("");
    print(
      `${color("bold", "Posthorn demo: from an empty instance to a reply.")} It needs no internet access and removes its data.`,
    );
    const dataDir = await mkdtemp(join(tmpdir(), "posthorn-demo-"));
    const network = await startDemoNetwork();
    const context: DemoContext = { network, dataDir, events: [], print: printIndented };
    const done = await runSteps(context, stop).finally(async () => {
      await context.stream?.stop();
      await (await context.starting?.catch(() => undefined))?.stop();
      await network.stop();
      await rm(dataDir, { recursive: true, force: true });
    });
    print(`\n${table([["", "STEP", "TIME", ""], ...done.map(row)], "")}`);
    const succeeded = done.every(({ result }) => result === "done");
    const seconds = done.reduce((sum, { tookMs }) => sum + tookMs, 0) / 1000;
    print(
      succeeded
        ? `All ${done.length} steps done in ${seconds.toFixed(1)} s. To run your own instance: npm start`
        : stop.aborted
          ? `The demo was interrupted at step ${done.length} and removed its data.`
          : `The demo failed at step ${done.length}. Please report this with the output above.`,
    );
    // Our own resources are closed; an open handle of a library must not keep the process running.
    process.exit(succeeded ? 0 : 1);
  },
};

type Done = { title: string; result: "done" | "failed"; tookMs: number };

/** Runs the steps in order, up to the first that fails. */
async function runSteps(context: DemoContext, interrupted: AbortSignal): Promise<Done[]> {
  const done: Done[] = [];
  for (const { title, run } of steps) {
    print(`\n${color("bold", `${String(done.length + 1).padStart(2)}  ${title}`)}`);
    const began = performance.now();
    const end = (result: Done["result"]) => done.push({ title, result, tookMs: performance.now() - began });
    try {
      await Promise.race([run(context), failure(interrupted)]);
      end("done");
    } catch (error) {
      end("failed");
      printIndented(color("red", interrupted.aborted ? "interrupted" : ((error as Error).stack ?? String(error))));
      return done;
    }
  }
  return done;
}

/** A step takes one or two seconds, and up to a hundred times that on a busy machine. A longer one has failed. */
const stepTimeoutMs = 120_000;

function failure(interrupted: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    void untilAborted(interrupted).then(() => reject(new Error("interrupted")));
    setTimeout(() => reject(new Error(`not done within ${stepTimeoutMs / 1000} s`)), stepTimeoutMs).unref();
  });
}

function row({ title, result, tookMs }: Done, index: number): Cell[] {
  const time = `${(tookMs / 1000).toFixed(1)} s`.padStart(6);
  return [
    String(index + 1).padStart(2),
    title,
    time,
    result === "done" ? { text: "ok", tone: "green" } : { text: "failed", tone: "red" },
  ];
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function printIndented(line: string): void {
  print(`    ${line}`);
}
