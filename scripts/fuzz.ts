/** Fuzzing by hand: node scripts/fuzz.ts [target] [seconds] [seed]. Without a target all of them, 10 seconds each. npm test runs each for a moment. */
import { Worker } from "node:worker_threads";
import type { Tally } from "./fuzz/run.ts";
import { targets } from "./fuzz/targets.ts";

const [first, ...rest] = process.argv.slice(2);
const named = first !== undefined && !/^\d+$/.test(first) ? first : undefined;
const [seconds = 10, seed = Date.now() % 1_000_000_000] = (named ? rest : [first, ...rest])
  .flatMap((word) => word ?? [])
  .map(Number);
const wanted = targets.filter(({ name }) => named === undefined || named === "all" || name === named);
if (wanted.length === 0 || !(seconds > 0)) {
  process.stderr.write(`usage: node scripts/fuzz.ts [${targets.map(({ name }) => name).join("|")}] [seconds] [seed]\n`);
  process.exit(2);
}

/** Far more than any input may take on a machine that does ten other things. */
const hangMs = 15_000;

let found = 0;
for (const { name } of wanted) {
  const { inputs, slowestMs, findings } = await watch(name);
  process.stdout.write(
    `${name.padEnd(16)} ${String(inputs).padStart(9)} inputs, slowest ${slowestMs.toFixed(1)} ms, ${findings.length} findings\n`,
  );
  for (const { seed: at, index, what, input } of findings)
    process.stdout.write(`  ${what}\n  input ${index} of: node scripts/fuzz.ts ${name} 1 ${at}\n  ${input}\n\n`);
  found += findings.length;
}
process.exit(found === 0 ? 0 : 1);

/** In a thread of its own: an input that never comes to an end is told and left, and so is a promise that nobody waits for. */
function watch(name: string): Promise<Tally> {
  const place = new Int32Array(new SharedArrayBuffer(12));
  const worker = new Worker(new URL("./fuzz/worker.ts", import.meta.url), {
    workerData: { name, seconds, seed, place },
  });
  return new Promise((resolve, reject) => {
    const lost = (what: string) => {
      clearInterval(timer);
      void worker.terminate();
      const at = { seed: place[1]!, index: place[2]! };
      resolve({ inputs: place[0]!, slowestMs: 0, findings: [{ target: name, ...at, what, input: "" }] });
    };
    let before = -1;
    const timer = setInterval(() => {
      if (place[0] === before) lost(`one input was not done after ${hangMs / 1000} seconds`);
      before = place[0]!;
    }, hangMs);
    worker.once("message", (tally: Tally) => {
      clearInterval(timer);
      resolve(tally);
      void worker.terminate();
    });
    worker.once("error", (error) => lost((error as Error).stack ?? String(error)));
    worker.once("messageerror", reject);
  });
}
