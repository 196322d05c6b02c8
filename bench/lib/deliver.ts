/** Sends emails through a running program and waits until each is settled. Measures throughput, memory and cost. */
import { memoryMiB } from "../../test/harness/process-stats.ts";
import type { RunningProgram } from "../../test/harness/program.ts";
import { until } from "../../test/harness/wait.ts";
import { type Cost, startCost } from "./cost.ts";
import { callHeaders, type Environment, longestPauseMs } from "./environment.ts";
import { runLoad } from "./load.ts";
import { quick } from "./scale.ts";
import { measured, type Shares } from "./shares.ts";

/** Emails before a measurement. The first thousand emails of a process take 1.5 times the CPU time of the ten thousandth, until V8 has optimized
 * the code. A running service is past that point. */
export const warmUpEmails = quick ? 300 : 5000;

export type Delivering = {
  /** Emails. */
  count: number;
  /** Recipients of each email; by default one. */
  recipients?: number;
  connections?: number;
  body: (i: number) => string | Buffer;
};
/** `perSecond` counts recipients. */
export type Delivered = { perSecond: number; peakMiB: number; pauseMs: number; cost: Cost; shares: Shares | undefined };

/** The time includes accepting the emails. */
export async function deliverAll(environment: Environment, node: RunningProgram, mail: Delivering): Promise<Delivered> {
  const { sql } = environment;
  const { count, recipients = 1, connections = 64, body } = mail;
  const all = count * recipients;
  const settled = async () =>
    Number((await sql<{ last: string }[]>`select sum(last)::text as last from event_counters`)[0]!.last);
  const delivered = async () =>
    (
      await sql<{ count: number }[]>`
        select count(*) filter (where type = 'email.delivered')::int as count from events`
    )[0]!.count;
  const before = await settled();
  const deliveredBefore = await delivered();
  await longestPauseMs(node.opsUrl);
  const costSince = await startCost(environment, node.pid);
  const load = { url: node.url, path: "/v1.EmailService/SendEmail", headers: callHeaders };
  const { result: seconds, shares } = await measured({ environment, node }, async () => {
    const began = performance.now();
    const { failures } = await runLoad({ ...load, count, connections, body });
    if (failures.length > 0) throw new Error(`${failures.length} emails were not accepted: ${failures[0]}`);
    await until("every email to be settled", async () => (await settled()) >= before + all, {
      withinMs: 60_000,
      everyMs: 20,
    });
    return (performance.now() - began) / 1000;
  });
  const cost = await costSince();
  const deliveredNow = (await delivered()) - deliveredBefore;
  if (deliveredNow !== all) throw new Error(`${deliveredNow} of ${all} recipients were delivered`);
  const pauseMs = await longestPauseMs(node.opsUrl);
  return { perSecond: all / seconds, peakMiB: memoryMiB(node.pid).peak, pauseMs, cost, shares };
}
