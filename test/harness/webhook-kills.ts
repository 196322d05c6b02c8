/** Kills the program while webhook requests are in flight and checks that every event reaches the endpoint. */
import { accepted } from "./sending.ts";
import type { Findings, Progress } from "./under-load.ts";
import { until } from "./wait.ts";
import { startWebhookTestbed } from "./webhook-testbed.ts";

const emailsEachTime = 10;

export async function killWebhooks(times: number, progress: Progress = () => {}): Promise<Findings> {
  const testbed = await startWebhookTestbed();
  const { receiver, database } = testbed;
  const broken: string[] = [];
  /** How often the endpoint accepted each event. */
  const taken = new Map<string, number>();
  const isTaken = (id: string) => taken.has(id);
  let holding = true;
  let count = 0;
  // Every second request hangs, so that it is in flight when the process dies.
  receiver.script = ({ event }) => {
    if (holding && ++count % 2 === 0) return "hang";
    taken.set(event.id, (taken.get(event.id) ?? 0) + 1);
    return 200;
  };
  const send = (name: string) =>
    Promise.all(
      Array.from({ length: emailsEachTime }, (_, i) =>
        accepted(testbed, { to: [`${name}-${i}@there.test`], async: true }),
      ),
    );
  let inFlight = 0;
  let recoveryMs = 0;
  try {
    const webhook = await testbed.createWebhook();
    let program = testbed.program;
    for (let kill = 1; kill <= times; kill++) {
      holding = true;
      const before = receiver.requests.length;
      await send(`k${kill}`);
      await receiver.until("requests in flight", ({ requests }) => requests.length >= before + 3);
      const [open] = await database.sql<{ n: number }[]>`
        select count(*)::int as n from webhook_deliveries where status = 'queued'`;
      inFlight += open!.n;
      const killedAt = performance.now();
      await program.kill();
      holding = false;
      // Moves the heartbeat into the past, so that the new process treats the dead one as dead.
      await database.sql`update workers set beat_at = beat_at - interval '1 minute'`;
      const seen = taken.size;
      program = await testbed.startNode();
      await send(`after-${kill}`);
      await until("events at the endpoint again", () => taken.size >= seen + 5);
      recoveryMs = Math.max(recoveryMs, performance.now() - killedAt);
      progress(`${kill} of ${times}`);
    }
    const emails = times * emailsEachTime * 2;
    const isDelivered = ({ event }: { event: { type: string } }) => event.type === "email.delivered";
    const events = await testbed.untilEvents("every email's event", (all) => all.filter(isDelivered).length >= emails);
    const missing = () => events.filter(({ event }) => !isTaken(event.id));
    await until("every event at the endpoint", () => missing().length === 0).catch((error: Error) =>
      broken.push(error.message),
    );
    const log = await testbed.untilDeliveries("all settled", webhook.id, (all) => all.every((one) => one.settledAt));
    if (log.length !== events.length) broken.push(`${log.length} deliveries for ${events.length} events`);
    const other = log.filter(({ status }) => status !== "WEBHOOK_DELIVERY_STATUS_DELIVERED").length;
    if (other > 0) broken.push(`${other} deliveries did not end as delivered`);
    const gaps = events.filter(({ cursor }, i) => cursor !== String(i + 1)).length;
    if (gaps > 0) broken.push(`the cursors of the log have gaps, repeats or a wrong order at ${gaps} positions`);
    const again = [...taken.values()].filter((often) => often > 1).length;
    return {
      injected: times,
      inFlight,
      emails,
      lost: missing().length,
      gaps,
      recoveryMs,
      broken,
      // Webhooks are delivered at least once; the receiver recognizes an event by its id.
      duplicated: again,
      inDoubt: again,
      suspected: again,
      note: "counts events; a repeated event has the same id",
    };
  } finally {
    await testbed.stop();
  }
}
