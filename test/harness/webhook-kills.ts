/** kill -9 of the program while requests to a webhook are under way: every event reaches the endpoint in the end. */
import { accepted } from "./sending.ts";
import type { Findings, Say } from "./under-load.ts";
import { until } from "./wait.ts";
import { startWebhookWorld } from "./webhook-world.ts";

const emailsEachTime = 10;

export async function killWebhooks(times: number, say: Say = () => {}): Promise<Findings> {
  const world = await startWebhookWorld();
  const { receiver, database } = world;
  const broken: string[] = [];
  /** How often the endpoint has said yes to an event. */
  const taken = new Map<string, number>();
  const isTaken = (id: string) => taken.has(id);
  let holding = true;
  let count = 0;
  // Every second event is held while the kill comes: such a request is in the hands of a process that dies.
  receiver.script = ({ event }) => {
    if (holding && ++count % 2 === 0) return "hang";
    taken.set(event.id, (taken.get(event.id) ?? 0) + 1);
    return 200;
  };
  const send = (name: string) =>
    Promise.all(
      Array.from({ length: emailsEachTime }, (_, i) =>
        accepted(world, { to: [`${name}-${i}@there.test`], async: true }),
      ),
    );
  let onTheirWay = 0;
  let recoveryMs = 0;
  try {
    const webhook = await world.createWebhook();
    let program = world.program;
    for (let kill = 1; kill <= times; kill++) {
      holding = true;
      const before = receiver.requests.length;
      await send(`k${kill}`);
      await receiver.until("requests under way", ({ requests }) => requests.length >= before + 3);
      const [open] = await database.sql<{ n: number }[]>`
        select count(*)::int as n from webhook_deliveries where status = 'queued'`;
      onTheirWay += open!.n;
      const killedAt = performance.now();
      await program.kill();
      holding = false;
      // As if half a minute of silence had passed: the dead process is known to be dead.
      await database.sql`update workers set seen_at = now() - interval '1 minute'`;
      const seen = taken.size;
      program = await world.startNode();
      await send(`after-${kill}`);
      await until("events at the endpoint again", () => taken.size >= seen + 5);
      recoveryMs = Math.max(recoveryMs, performance.now() - killedAt);
      say(`${kill} of ${times}`);
    }
    const emails = times * emailsEachTime * 2;
    const isDelivered = ({ event }: { event: { type: string } }) => event.type === "email.delivered";
    const events = await world.untilEvents("every email's event", (all) => all.filter(isDelivered).length >= emails);
    const missing = () => events.filter(({ event }) => !isTaken(event.id));
    await until("every event at the endpoint", () => missing().length === 0).catch((error: Error) =>
      broken.push(error.message),
    );
    const log = await world.untilDeliveries("all settled", webhook.id, (all) => all.every((one) => one.settledAt));
    if (log.length !== events.length) broken.push(`${log.length} deliveries for ${events.length} events`);
    const other = log.filter(({ status }) => status !== "WEBHOOK_DELIVERY_STATUS_DELIVERED").length;
    if (other > 0) broken.push(`${other} deliveries did not end as delivered`);
    const gaps = events.filter(({ cursor }, i) => cursor !== String(i + 1)).length;
    if (gaps > 0) broken.push(`the log has a gap, a repeat or another order at ${gaps} places`);
    const again = [...taken.values()].filter((often) => often > 1).length;
    return {
      ...{ injected: times, inFlight: onTheirWay, emails, lost: missing().length, gaps, recoveryMs, broken },
      // A webhook is told at least once; its receiver knows an event by its id.
      ...{ duplicated: again, inDoubt: again, note: "events; one that came again carries the same id" },
    };
  } finally {
    await world.stop();
  }
}
