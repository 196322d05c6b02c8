/** The worker thread in which fuzz.ts runs a target. It records each input first, so that fuzz.ts can report the one that hangs. */
import { parentPort, workerData } from "node:worker_threads";
import { runTarget } from "./run.ts";
import { targets } from "./targets.ts";

const { name, seconds, seed, position } = workerData as {
  name: string;
  seconds: number;
  seed: number;
  position: Int32Array;
};
const tally = await runTarget(targets.find((target) => target.name === name)!, {
  seconds,
  seed,
  onInput(at, index) {
    position[0]! += 1;
    position[1] = at;
    position[2] = index;
  },
});
parentPort!.postMessage(tally);
