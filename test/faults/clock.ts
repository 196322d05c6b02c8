/** Faults of clocks: the wall clock of the program or of PostgreSQL jumps by days under load and comes back. */
import { allOrders, deferring, type JumpResult, jumpLoad, jumpUnderLoad } from "../harness/clock-jumps.ts";
import { createMovedClock, type MovedClock, startMovedClockServer, withoutMovedClock } from "../harness/moved-clock.ts";
import { type Findings, type Progress, underLoad } from "../harness/under-load.ts";
import { startWebhookTestbed, type WebhookTestbed } from "../harness/webhook-testbed.ts";
import type { Fault } from "./fault.ts";

const promise =
  "nothing is lost, bounced untried, skipped or deleted; every event reaches the webhook once; no call fails with an internal error";

export const clocks: Fault[] = [
  {
    name: "clock: the program's jumps by ±3, ±30 and +400 days and comes back",
    promise,
    times: 1,
    cannot: () => withoutMovedClock || undefined,
    inject: jumpProgram,
  },
  {
    name: "clock: the database's jumps by ±3, ±30 and +400 days and comes back",
    promise,
    times: 1,
    cannot: () => withoutMovedClock || undefined,
    inject: jumpDatabase,
  },
];

async function jumpProgram(times: number, progress: Progress): Promise<Findings> {
  const clock = await createMovedClock();
  try {
    return await jump({ times, progress, clock, start: () => startJumpTestbed({ env: clock.env }) });
  } finally {
    await clock.remove();
  }
}

async function jumpDatabase(times: number, progress: Progress): Promise<Findings> {
  const clock = await createMovedClock();
  const server = await startMovedClockServer(clock);
  try {
    return await jump({ times, progress, clock, start: () => startJumpTestbed({ server }) });
  } finally {
    await clock.set(0);
    await server.stop();
    await clock.remove();
  }
}

const startJumpTestbed = (options: Parameters<typeof startWebhookTestbed>[0]) =>
  startWebhookTestbed({ sink: { script: deferring }, ...options });

type Jump = { times: number; progress: Progress; clock: MovedClock; start: () => Promise<WebhookTestbed> };

async function jump({ times, progress, clock, start }: Jump): Promise<Findings> {
  let result: JumpResult | undefined;
  const orders = Array.from({ length: times }, () => allOrders).flat();
  const found = await underLoad<WebhookTestbed>({ start, load: jumpLoad }, async (run) => {
    result = await jumpUnderLoad(run, { orders, move: clock.set, progress });
  });
  const seconds = ((result?.waitedMs ?? 0) / 1000).toFixed(1);
  const note = `open mail was settled at most ${seconds} s after a return; ${result?.unavailable} calls answered with unavailable`;
  return { ...found, note };
}
