/** The shape of a fault: what it is, what must hold, and how it is made to happen. `all.ts` lists them, scripts/faults.ts runs them. */
import type { Findings, Say } from "../harness/under-load.ts";

export type Fault = {
  name: string;
  /** What must hold. */
  promise: string;
  /** How often it is made to happen where nobody says otherwise. */
  times: number;
  /** Why it cannot be done here, if it cannot. */
  cannot?(): string | undefined;
  inject(times: number, say: Say): Promise<Findings>;
};
