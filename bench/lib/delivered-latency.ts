/** Time from the request that sends an email until its event email.delivered has arrived on a stream. Called by stream.ts. */
import type { RunningProgram } from "../../test/harness/program.ts";
import { openStream } from "../../test/harness/streams.ts";
import { until } from "../../test/harness/wait.ts";
import { benchKey, callHeaders, sendBody } from "./environment.ts";
import { percentiles, type Times } from "./latency.ts";

const perSecond = 20;

/** Sends emails at a steady rate to a program that does nothing else. */
export async function measureDelivered(node: RunningProgram, count: number): Promise<Times> {
  const sentAt = new Map<string, number>();
  const arrivedAt = new Map<string, number>();
  const stream = await openStream(node.url, {
    key: benchKey,
    request: { cursor: "latest", types: ["email.delivered"] },
    onMessage: ({ event }) => event && arrivedAt.set(event.emailId!, performance.now()),
  });
  await stream.until("the first message", ({ messages }) => messages.length > 0);
  await Promise.all(
    Array.from({ length: count }, async (_, i) => {
      await new Promise((resolve) => setTimeout(resolve, (i * 1000) / perSecond));
      const began = performance.now();
      const answer = await fetch(`${node.url}/v1.EmailService/SendEmail`, {
        method: "POST",
        headers: callHeaders,
        body: sendBody(`u${i}@new.test`),
      });
      sentAt.set(((await answer.json()) as { id: string }).id, began);
    }),
  );
  await until("every event", () => arrivedAt.size === count, { withinMs: 30_000 });
  stream.leave();
  return percentiles([...sentAt].map(([id, at]) => arrivedAt.get(id)! - at));
}
