/** Fuzzes the parsers: npm run fuzz -- [target] [seconds] [seed]. Default: every target for 10 seconds.
 * npm test runs a few inputs of each. */
import { Worker } from "node:worker_threads";
import type { Tally } from "./fuzz/run.ts";
import { targets } from "./fuzz/targets.ts";

const [first, ...rest] = process.argv.slice(2);
const named = first !== undefined && !/^\d+$/.test(first) ? first : undefined;
const [seconds = 10, seed = Date.now() % 1_000_000_000] = (named ? rest : [first, ...rest])
  .flatMap((word) => word ?? [])
  .map(Number);
const chosen = targets.filter(({ name }) => named === undefined || named === "all" || name === named);
if (chosen.length === 0 || !(seconds > 0)) {
  process.stderr.write(`usage: npm run fuzz -- [${targets.map(({ name }) => name).join("|")}] [seconds] [seed]\n`);
  process.exit(2);
}

/** Far longer than any input may take, even on a busy machine. */
const hangMs = 15_000;

let found = 0;
for (const { name } of chosen) {
  const { inputs, slowestMs, findings } = await watch(name);
  process.stdout.write(
    `${name.padEnd(16)} ${String(inputs).padStart(9)} inputs, slowest ${slowestMs.toFixed(1)} ms, ${findings.length} findings\n`,
  );
  for (const { seed: at, index, what, input } of findings)
    process.stdout.write(`  ${what}\n  input ${index} of: npm run fuzz -- ${name} 1 ${at}\n  ${input}\n\n`);
  found += findings.length;
}
process.exit(found === 0 ? 0 : 1);

/** Runs a target in a worker thread, so that an input that hangs, or an unhandled rejection, is reported and the thread ended. */
function watch(name: string): Promise<Tally> {
  const position = new Int32Array(new SharedArrayBuffer(12));
  const worker = new Worker(new URL("./fuzz/worker.ts", import.meta.url), {
    workerData: { name, seconds, seed, position },
  });
  return new Promise((resolve, reject) => {
    const giveUp = (what: string) => {
      clearInterval(timer);
      void worker.terminate();
      const at = { seed: position[1]!, index: position[2]! };
      resolve({ inputs: position[0]!, slowestMs: 0, findings: [{ target: name, ...at, what, input: "" }] });
    };
    let before = -1;
    const timer = setInterval(() => {
      if (position[0] === before) giveUp(`one input did not finish within ${hangMs / 1000} seconds`);
      before = position[0]!;
    }, hangMs);
    worker.once("message", (tally: Tally) => {
      clearInterval(timer);
      resolve(tally);
      void worker.terminate();
    });
    worker.once("error", (error) => giveUp((error as Error).stack ?? String(error)));
    worker.once("messageerror", reject);
  });
}
