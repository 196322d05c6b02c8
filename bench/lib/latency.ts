/** Latency of new mail as a caller sees it: emails sent at a steady rate, each with its own wait for the result. */
import type { RunningProgram } from "../../test/harness/program.ts";
import { callHeaders, sendBody } from "./environment.ts";

const defaultCount = 400;
const perSecond = 20;

export type Times = { p50: number; p99: number; longest: number };

export function percentiles(times: readonly number[]): Times {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(sorted.length * share)]!;
  return { p50: at(0.5), p99: at(0.99), longest: sorted.at(-1)! };
}

export async function measureLatency(node: RunningProgram, count = defaultCount): Promise<Times> {
  return percentiles(await latencies(node, { count, perSecond }));
}

/** Of an even number of values the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1]! + sorted[sorted.length >> 1]!) / 2;
}

/** Sends emails at a steady rate. The time of each runs from the request to the answer that the receiver accepted it. */
export async function latencies(
  node: RunningProgram,
  { count, perSecond }: { count: number; perSecond: number },
): Promise<number[]> {
  const times: number[] = [];
  const failures: string[] = [];
  const began = performance.now();
  await Promise.all(
    Array.from({ length: count }, async (_, i) => {
      await new Promise((resolve) => setTimeout(resolve, (i * 1000) / perSecond));
      const sentAt = performance.now();
      const body = JSON.stringify({ ...JSON.parse(sendBody(`u${i}@new.test`)), async: false });
      const answer = await fetch(`${node.url}/v1.EmailService/SendEmail`, {
        method: "POST",
        headers: callHeaders,
        body,
      });
      const { status } = (await answer.json()) as { status?: string };
      if (status === "EMAIL_STATUS_SENT") times.push(performance.now() - sentAt);
      else failures.push(String(status));
    }),
  );
  if (failures.length > 0)
    throw new Error(
      `${failures.length} of ${count} emails were not sent within 10 s (${failures[0]}) in ${performance.now() - began} ms`,
    );
  return times;
}
