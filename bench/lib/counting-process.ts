/** A receiver of a bench in its own process (sink.ts, receiver.ts). It sends its port first, and its counts on request. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export type Counts = { received: number; lastBody?: string };
export type CountingProcess = { port: number; counts(): Promise<Counts>; stop(): void };

const running = new Set<ChildProcess>();

/** The processes that receive what a bench sends, for shares.ts. */
export function receiverPids(): number[] {
  return [...running].map(({ pid }) => pid!);
}

/** `name`: a file of this folder that calls `serveCounts`. */
export async function startCountingProcess(name: string, args: string[] = []): Promise<CountingProcess> {
  const child: ChildProcess = fork(fileURLToPath(new URL(`./${name}`, import.meta.url)), args);
  running.add(child);
  const ended = new AbortController();
  child.once("exit", (code) => {
    running.delete(child);
    ended.abort(new Error(`${name} ended with ${code}`));
  });
  const next = async () => (await once(child, "message", { signal: ended.signal }))[0];
  const port = Number(await next());
  return {
    port,
    async counts() {
      const answer = next();
      child.send("?");
      return (await answer) as Counts;
    },
    stop() {
      running.delete(child);
      child.disconnect();
    },
  };
}

/** Runs in the child process: answers each request with the counts. */
export function serveCounts(port: number, counts: () => Counts): void {
  process.on("message", () => process.send!(counts()));
  process.on("disconnect", () => process.exit(0));
  process.send!(port);
}
