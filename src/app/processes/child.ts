/** One process of a program with several: runs all roles on the shared ports until its supervisor (supervisor.ts) stops it or ends. slot.ts starts
 * this file. */
import { setTimeout as delay } from "node:timers/promises";
import { createCallLimit } from "../../http/gate.ts";
import { provideToBase64 } from "../../ops/base64.ts";
import { createLog } from "../../ops/log.ts";
import { connectAttempts } from "../../shares/guesses-among-peers.ts";
import { createLeasedTokens } from "../../shares/leased-tokens.ts";
import { createOpsParts, type Ops, type OpsDeps } from "../assemble/ops.ts";
import { assemble } from "../assemble.ts";
import { type Config, readConfig } from "../config.ts";
import { failureOf } from "../failure.ts";
import { version } from "../help.ts";
import type { Host } from "../host.ts";
import { untilAborted } from "../stop-signal.ts";
import { type Channel, openChannel } from "./channel.ts";
import type { MetricJson, StartOrder } from "./messages.ts";
import { ProcessFailed } from "./run.ts";
import { createSpreads } from "./spread.ts";

/** A client that uses its connection at least this often is never cut off in the middle of a request by a restart. */
const lingerMs = 3_000;
const giveBackEveryMs = 500;

const stop = new AbortController();
// Ctrl-C and a closed terminal reach every process of the group. The supervisor decides what they mean.
for (const signal of ["SIGINT", "SIGHUP"] as const) process.on(signal, () => {});
process.on("SIGTERM", () => {
  channel.send({ kind: "stopping" });
  stop.abort();
});
const channel = openChannel();
// Without its supervisor, the database may be gone and another program may be starting.
process.on("disconnect", () => process.exit(1));
// Node does not report the end of the channel while a connection is on its way to the supervisor.
setInterval(() => process.connected || process.exit(1), 500).unref();
let isReplaced = false;
channel.on("stop", (message) => {
  isReplaced = message.isReplaced;
  stop.abort();
});
channel.on("start", ({ order }) => void run(order));

async function run(order: StartOrder): Promise<void> {
  try {
    if (order.version !== version)
      throw new ProcessFailed(
        `The files on disk are version ${version}, and the supervisor runs version ${order.version}. Stop and start the program to upgrade it.`,
        1,
      );
    provideToBase64();
    await serve(order);
    process.exit(0);
  } catch (error) {
    const { message, exitCode } = failureOf(error);
    if (process.connected)
      process.send!({ kind: "failed", message, exitCode }, undefined, {}, () => process.exit(exitCode));
    else process.exit(exitCode);
  }
}

async function serve(order: StartOrder): Promise<void> {
  const read = readConfig(process.env);
  const config: Config = { ...read, databaseUrl: order.databaseUrl ?? read.databaseUrl };
  const pretty = config.logFormat === "pretty" || (config.logFormat === "auto" && process.stdout.isTTY === true);
  const log = createLog({ level: config.logLevel, pretty }).child({ process: order.slot });
  const program = await assemble(config, log, stop.signal, hostOf(order, config));
  const { ports, first, exampleDomain, firstSignUp } = program;
  channel.send({ kind: "started", started: { ports, first, exampleDomain, firstSignUp } });
  await untilAborted(stop.signal);
  await program.stop();
}

function hostOf(order: StartOrder, config: Config): Host {
  const { descriptors } = order;
  const spreads = createSpreads({
    id: order.id,
    send: channel.send,
    report: (loads) => channel.send({ kind: "loads", ...loads }),
  });
  channel.on("loads", (shared) => spreads.learn(shared));
  channel.on("connection", ({ port }, raw) => spreads.arrived(port, raw));
  const attempts = connectAttempts((note) => channel.send({ kind: "attempt", note }));
  channel.on("attempt", ({ note }) => attempts.hear(note, performance.now()));
  channel.on("attempts", ({ counts }) => attempts.restore(counts, performance.now()));
  channel.answers("attempts", async () => attempts.counts(performance.now()));
  return {
    part: order.part,
    run: order.run,
    startOps: async (deps) => answerOps(channel, deps, order.opsPort),
    callLimit(rate) {
      const leased = createLeasedTokens({ burst: rate.burst, source: channel.tokens, nowMs: () => performance.now() });
      void giveBackIdle(leased);
      return createCallLimit(rate, leased);
    },
    listener(port) {
      const fd = descriptors[port];
      return fd === undefined ? undefined : { fd, spread: spreads.of(port) };
    },
    dnsSockets: descriptors.dnsUdp === undefined ? undefined : { udp: descriptors.dnsUdp, tcp: descriptors.dnsTcp! },
    lingerMs: () => (isReplaced ? Math.min(lingerMs, config.drainMs / 2) : 0),
    writePorts: async () => {},
  };
}

async function giveBackIdle(leased: { giveBackIdle(nowMs: number): void }): Promise<void> {
  for (;;) {
    await delay(giveBackEveryMs, undefined, { ref: false });
    leased.giveBackIdle(performance.now());
  }
}

/** The supervisor has the operations port, and asks each process for its part. */
function answerOps(channel: Channel, deps: OpsDeps, opsPort: number): Ops {
  const { readiness, measure } = createOpsParts(deps);
  deps.node.ports.ops = opsPort;
  let asking: Promise<boolean> | undefined;
  channel.answers("details", readiness.details);
  const read = async () => (await deps.metrics.registry.getMetricsAsJSON()) as unknown as MetricJson[];
  channel.answers("metrics", async () => {
    await measure.update();
    return await read();
  });
  return {
    health: {
      metricsToken: deps.config.metricsToken,
      // Concurrent callers share one question: a flood of them must not keep the supervisor from granting tokens.
      async ready() {
        asking ??= channel
          .ask("ready")
          .catch(() => false)
          .finally(() => {
            asking = undefined;
          });
        return await asking;
      },
      metrics: async () => await channel.ask("metrics"),
    },
    beforeScrape: measure.beforeScrape,
    announce() {},
    // After all other parts. Without it, what was counted since the last scrape would be lost.
    async stop() {
      const metrics = await read();
      await new Promise<void>((sent) => channel.send({ kind: "metrics", metrics }, undefined, sent));
    },
  };
}
