/** The wiring of webhooks: the service that manages them, and the role that follows the log and posts. */
import type { ServiceEntry } from "../api/service.ts";
import { eventJson } from "../api/webhook-wire.ts";
import { createWebhookService } from "../api/webhooks.ts";
import type { Log } from "../ops/log.ts";
import type { Metrics } from "../ops/metrics.ts";
import { createWebhookGuard } from "../rules/webhook-url.ts";
import type { Clock } from "../store/clock.ts";
import { makeUuid } from "../store/ids.ts";
import type { Wake } from "../store/wake.ts";
import { createWebhookSettler } from "../store/webhook-settle.ts";
import { createAttempt } from "../webhooks/attempt.ts";
import { createDeliver } from "../webhooks/deliver.ts";
import { createFollower } from "../webhooks/follow.ts";
import { createWebhookLoop } from "../webhooks/loop.ts";
import { createPoster } from "../webhooks/post.ts";
import { type AddressResolver, createTargetFinder } from "../webhooks/target.ts";
import type { Config } from "./config.ts";
import { createHeartbeat } from "./heartbeat.ts";
import type { Store } from "./open-store.ts";
import { version } from "./version.ts";

export type WebhookDeps = {
  config: Config;
  log: Log;
  metrics: Metrics;
  clock: Clock;
  wake: Wake;
  store: Store;
  resolver: AddressResolver;
};

export type Webhooks = {
  service: ServiceEntry;
  /** Starts the role: from here on this process posts events. */
  start(): Promise<void>;
  stop(): Promise<void>;
};

export function createWebhooks(deps: WebhookDeps): Webhooks {
  const { config, log, clock, wake } = deps;
  const { sql, secrets, schemaVersion } = deps.store;
  const { scheduleMs, timeoutMs, disableAfterMs } = config.webhooks;
  const guard = createWebhookGuard({ allowCidrs: openedRanges(config) });
  const finder = createTargetFinder({ resolver: deps.resolver, guard });
  const poster = createPoster({ guard, finder, userAgent: `Posthorn-Webhooks/${version}`, timeoutMs });
  const attempt = createAttempt({ poster, secrets, render: eventJson, nowMs: clock.nowMs });
  const service = createWebhookService({ sql, clock, secrets, check: finder.check, sendTest: attempt });

  const settler = createWebhookSettler(sql, { disableAfterMs, onDisabled: () => wake.tell("events") });
  // A worker of its own: each loop gives up its worker's id when it has lost sight of a lease, and must not take the other's with it.
  const heartbeat = createHeartbeat({ sql, log, clock, roles: ["webhooks"], version, schemaVersion, alone: false });
  const loop = createWebhookLoop({
    sql,
    log,
    worker: heartbeat,
    deliver: createDeliver({
      attempt,
      log,
      scheduleMs,
      random: Math.random,
      makeEventId: () => makeUuid(clock.nowMs()),
      onAttempt: (outcome) => deps.metrics.webhookAttempts.inc({ outcome }),
    }),
    settle: (item) => settler.add(item, item.responseHead.length + item.error.length),
  });
  const follower = createFollower({ sql, log, wake, nowMs: clock.nowMs, onAdded: loop.wake });
  let started = false;

  return {
    service,
    async start() {
      started = true;
      await heartbeat.start();
      follower.start();
      loop.start();
    },
    async stop() {
      if (started) {
        await follower.stop();
        await loop.stop(config.drainMs);
        await settler.idle();
        await heartbeat.stop();
      }
      poster.stop();
    },
  };
}

/** Someone who tries the program out on their own machine has their endpoint there too. */
function openedRanges(config: Config): readonly string[] {
  const trying = config.delivery === "capture" && config.onLoopback;
  return trying ? [...config.allowPrivateWebhooks, "127.0.0.0/8", "::1/128"] : config.allowPrivateWebhooks;
}
