/** The type of a fault: its name, the guarantee, and the function that injects it. `all.ts` lists them, scripts/faults.ts runs
 * them. */
import type { Findings, Progress } from "../harness/under-load.ts";

export type Fault = {
  name: string;
  /** The guarantee that must hold. */
  promise: string;
  /** How often the fault is injected by default. */
  times: number;
  /** The reason if the fault cannot be injected on this machine. */
  cannot?(): string | undefined;
  inject(times: number, progress: Progress): Promise<Findings>;
};
