/** Faults under load: a world that sends all the while, something that strikes it, and what was found when all has come to rest. */
import { audit, type Expected, inFlight, type Load, type LoadOptions, startLoad, untilSettled } from "./ledger.ts";
import { startWorld, type World, type WorldOptions } from "./world.ts";

export type Findings = {
  /** How often the fault was made to happen. */
  injected: number;
  /** Emails on their way at those moments, all together. */
  inFlight: number;
  emails: number;
  /** Recipients of acknowledged emails that came to nothing. */
  lost: number;
  /** Recipients that got more than one copy, and those of them whose event said that they might. */
  duplicated: number;
  inDoubt: number;
  gaps: number;
  /** The longest time from a fault until fresh mail reached its receiver. */
  recoveryMs: number | undefined;
  /** Every broken promise in words. */
  broken: string[];
  note?: string;
};

export type Say = (words: string) => void;

export type Stage<W extends World = World> = {
  world: W;
  load: Load;
  /** Counts what is on its way, strikes, mends, and waits until fresh mail is delivered again: from the strike on, or from the mending. */
  strike(hit: () => Promise<unknown>, mend?: () => Promise<unknown>, from?: "strike" | "mending"): Promise<void>;
  /** What is looked at when everything is settled; broken promises come back in words. */
  atRest(look: () => Promise<string[]> | string[]): void;
  /** What is ended before the world is, also after a failure. */
  atEnd(end: () => Promise<unknown>): void;
};

export type UnderLoad<W extends World> = {
  start?: () => Promise<W>;
  world?: WorldOptions;
  load?: Partial<LoadOptions>;
  expected?: Expected;
};

export async function underLoad<W extends World = World>(
  options: UnderLoad<W>,
  work: (stage: Stage<W>) => Promise<void>,
): Promise<Findings> {
  const world = await (options.start ?? (() => startWorld(options.world) as Promise<W>))();
  const load = startLoad(world, { name: "f", senders: 4, pauseMs: 40, ...options.load });
  const broken: string[] = [];
  const recoveries: number[] = [];
  const looks: (() => Promise<string[]> | string[])[] = [];
  const ends: (() => Promise<unknown>)[] = [];
  let injected = 0;
  let onTheirWay = 0;
  const strike: Stage["strike"] = async (hit, mend, from = "strike") => {
    onTheirWay += await inFlight(world, load);
    await hit();
    injected++;
    if (from === "mending") await mend?.();
    const recovered = load.untilDelivering();
    recovered.catch(() => {});
    if (from === "strike") await mend?.();
    recoveries.push(await recovered);
  };
  try {
    await load.untilAcknowledged(10);
    await work({ world, load, strike, atRest: (look) => void looks.push(look), atEnd: (end) => void ends.push(end) });
    await load.stop();
    // What never settles is told as lost by the audit.
    await untilSettled(world).catch((error: Error) => broken.push(error.message));
    broken.push(...load.wrong);
    const { emails, lost, duplicates, flagged, gaps, wrong } = await audit(world, load.ledger, options.expected);
    broken.push(...wrong);
    for (const look of looks) broken.push(...(await look()));
    return {
      ...{ injected, inFlight: onTheirWay, emails, lost, duplicated: duplicates, inDoubt: flagged, gaps, broken },
      recoveryMs: recoveries.length === 0 ? undefined : Math.max(...recoveries),
    };
  } finally {
    load.giveUp();
    for (const end of ends) await end();
    await world.stop();
  }
}
