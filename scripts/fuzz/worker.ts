/** The thread that fuzz.ts runs a target in; it notes each input before it tries it, so that a hang has a place. */
import { parentPort, workerData } from "node:worker_threads";
import { runTarget } from "./run.ts";
import { targets } from "./targets.ts";

const { name, seconds, seed, place } = workerData as { name: string; seconds: number; seed: number; place: Int32Array };
const tally = await runTarget(targets.find((target) => target.name === name)!, {
  seconds,
  seed,
  onInput(at, index) {
    place[0]! += 1;
    place[1] = at;
    place[2] = index;
  },
});
parentPort!.postMessage(tally);
