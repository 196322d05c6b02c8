/** Injects faults while a client sends mail, and audits the result after all mail is settled. test/faults uses it. */
import {
  audit,
  type Expected,
  inFlight,
  type Ledger,
  type Load,
  type LoadOptions,
  type Send,
  startLoad,
  untilSettled,
} from "./ledger.ts";
import { startTestbed, type Testbed, type TestbedOptions } from "./testbed.ts";

export type Findings = {
  /** How often the fault was injected. */
  injected: number;
  /** Emails in flight at the time of the faults, in total. */
  inFlight: number;
  emails: number;
  /** Recipients of acknowledged emails that were lost. */
  lost: number;
  /** Recipients that got more than one copy, and those among them whose event has `possibleDuplicate`. */
  duplicated: number;
  inDoubt: number;
  /** All recipients whose event has `possibleDuplicate`, whether they got a second copy or not. */
  suspected: number;
  gaps: number;
  /** The longest time from a fault until new mail reached the receiver. */
  recoveryMs: number | undefined;
  /** One sentence for each violated guarantee. */
  broken: string[];
  note?: string;
};

/** Reports progress to the person who runs the faults. */
export type Progress = (text: string) => void;

export type FaultRun<W extends Testbed = Testbed> = {
  testbed: W;
  load: Load;
  /** Counts the mail in flight, injects the fault, repairs it, and waits until new mail is delivered. The recovery time starts
   * with the fault or with the repair. */
  injectFault(
    fault: () => Promise<unknown>,
    repair?: () => Promise<unknown>,
    recoveryFrom?: "fault" | "repair",
  ): Promise<void>;
  /** Adds a check that runs after all mail is settled. It returns one sentence for each violated guarantee. */
  whenSettled(check: () => Promise<string[]> | string[]): void;
  /** Adds cleanup that runs before the testbed stops, also after a failure. */
  cleanUp(end: () => Promise<unknown>): void;
};

export type UnderLoad<W extends Testbed> = {
  start?: () => Promise<W>;
  testbed?: TestbedOptions;
  load?: Partial<LoadOptions>;
  send?: (testbed: Testbed) => Send;
  expected?: Expected;
  /** Removes emails from the ledger that the fault may lose. Called once all other mail is settled, before the audit. */
  forgive?: (testbed: W, ledger: Ledger) => Promise<void>;
};

export async function underLoad<W extends Testbed = Testbed>(
  options: UnderLoad<W>,
  work: (run: FaultRun<W>) => Promise<void>,
): Promise<Findings> {
  const testbed = await (options.start ?? (() => startTestbed(options.testbed) as Promise<W>))();
  const send = options.send?.(testbed);
  const load = startLoad(testbed, { name: "f", senders: 4, pauseMs: 40, ...options.load, send });
  const broken: string[] = [];
  const recoveries: number[] = [];
  const checks: (() => Promise<string[]> | string[])[] = [];
  const ends: (() => Promise<unknown>)[] = [];
  let injected = 0;
  let inFlightTotal = 0;
  const injectFault: FaultRun["injectFault"] = async (fault, repair, recoveryFrom = "fault") => {
    inFlightTotal += await inFlight(testbed, load);
    await fault();
    injected++;
    if (recoveryFrom === "repair") await repair?.();
    const recovered = load.untilDelivering();
    recovered.catch(() => {});
    if (recoveryFrom === "fault") await repair?.();
    recoveries.push(await recovered);
  };
  try {
    await load.untilAcknowledged(10);
    await work({
      testbed,
      load,
      injectFault,
      whenSettled: (check) => void checks.push(check),
      cleanUp: (end) => void ends.push(end),
    });
    await load.stop();
    // The audit reports recipients that never settle as lost.
    await untilSettled(testbed).catch((error: Error) => broken.push(error.message));
    await options.forgive?.(testbed, load.ledger);
    broken.push(...load.wrong);
    const { emails, lost, duplicates, flagged, suspected, gaps, wrong } = await audit(
      testbed,
      load.ledger,
      options.expected,
    );
    broken.push(...wrong);
    for (const check of checks) broken.push(...(await check()));
    return {
      injected,
      inFlight: inFlightTotal,
      emails,
      lost,
      duplicated: duplicates,
      inDoubt: flagged,
      suspected,
      gaps,
      broken,
      recoveryMs: recoveries.length === 0 ? undefined : Math.max(...recoveries),
    };
  } finally {
    load.giveUp();
    for (const end of ends) await end();
    await testbed.stop();
  }
}
