import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics } from "../../ops/metrics.ts";
import type { MetricJson } from "./messages.ts";
import { createMetricsSum } from "./metrics-sum.ts";

const read = async (metrics: ReturnType<typeof createMetrics>) =>
  (await metrics.registry.getMetricsAsJSON()) as unknown as MetricJson[];
const sampleOf = (text: string, series: string) =>
  Number(
    text
      .split("\n")
      .find((line) => line.startsWith(`${series} `))
      ?.split(" ")[1],
  );

test("counters, histograms and gauges of processes add up, and values of the whole cluster do not", async () => {
  const sum = createMetricsSum();
  for (const [run, calls] of [
    ["a", 2],
    ["b", 5],
  ] as const) {
    const metrics = createMetrics();
    metrics.requests.inc({ method: "SendEmail", code: "ok" }, calls);
    metrics.requestSeconds.observe({ method: "SendEmail" }, 0.002);
    metrics.eventStreams.set(calls);
    metrics.queueDepth.set({ state: "due" }, 100);
    metrics.databaseUp.set(1);
    metrics.buildInfo.set({ version: "1" }, 1);
    sum.note(run, await read(metrics));
  }
  const text = await sum.render(["a", "b"], []);
  assert.equal(sampleOf(text, 'posthorn_requests_total{method="SendEmail",code="ok"}'), 7);
  assert.equal(sampleOf(text, 'posthorn_request_duration_seconds_count{method="SendEmail"}'), 2);
  assert.equal(sampleOf(text, 'posthorn_request_duration_seconds_bucket{le="0.0025",method="SendEmail"}'), 2);
  assert.equal(sampleOf(text, "posthorn_event_streams"), 7);
  assert.equal(sampleOf(text, 'posthorn_queue_recipients{state="due"}'), 100);
  assert.equal(sampleOf(text, "posthorn_database_up"), 1);
  assert.equal(sampleOf(text, 'posthorn_build_info{version="1"}'), 1);
});

test("the counts of an ended process stay in the sum, its gauges do not", async () => {
  const sum = createMetricsSum();
  const make = async (calls: number) => {
    const metrics = createMetrics();
    metrics.requests.inc({ method: "SendEmail", code: "ok" }, calls);
    metrics.eventStreams.set(calls);
    return await read(metrics);
  };
  sum.note("a", await make(3));
  sum.end("a");
  sum.note("b", await make(10));
  sum.end("b");
  sum.end("b");
  sum.note("c", await make(1));
  const text = await sum.render(["c"], []);
  assert.equal(sampleOf(text, 'posthorn_requests_total{method="SendEmail",code="ok"}'), 14);
  assert.equal(sampleOf(text, "posthorn_event_streams"), 1);
});
