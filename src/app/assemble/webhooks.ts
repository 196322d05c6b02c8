/** Wires webhooks: WebhookService, and the role that follows the event log and posts events. Called by assemble.ts. */
import type { ServiceEntry } from "../../http/call.ts";
import type { Clock } from "../../ops/clock.ts";
import type { Log } from "../../ops/log.ts";
import type { Metrics } from "../../ops/metrics.ts";
import { makeUuid } from "../../postgres/ids.ts";
import type { Wake } from "../../postgres/wake.ts";
import type { Quotas } from "../../quotas/quotas.ts";
import { createAttempt } from "../../webhooks/attempt.ts";
import { createDeliver } from "../../webhooks/deliver.ts";
import { createWebhookLoop } from "../../webhooks/loop.ts";
import { type AddressResolver, createPoster, createTargetFinder } from "../../webhooks/post.ts";
import { createWebhookGuard } from "../../webhooks/rules/url.ts";
import { createWebhookService } from "../../webhooks/service.ts";
import { eventsOf } from "../../webhooks/store/deliveries.ts";
import { bytesOf, createWebhookSettler } from "../../webhooks/store/settle.ts";
import { eventJson } from "../../webhooks/wire.ts";
import type { Config } from "../config.ts";
import { createHeartbeat } from "../heartbeat.ts";
import { version } from "../help.ts";
import { type Host, ownProcess } from "../host.ts";
import type { Store } from "../open-store.ts";

export type WebhookDeps = {
  config: Config;
  log: Log;
  metrics: Metrics;
  clock: Clock;
  wake: Wake;
  store: Store;
  quotas: Quotas;
  resolver: AddressResolver;
  host?: Host;
};

export type WebhooksPart = {
  service: ServiceEntry;
  /** Starts the role: this process posts events. */
  start(): Promise<void>;
  stop(): Promise<void>;
};

export function createWebhooks(deps: WebhookDeps): WebhooksPart {
  const { config, log, clock, wake, host = ownProcess } = deps;
  const { sql, secrets, schemaVersion } = deps.store;
  const { scheduleMs, timeoutMs, disableAfterMs } = config.webhooks;
  const guard = createWebhookGuard({ allowCidrs: allowedRanges(config) });
  const finder = createTargetFinder({
    resolver: deps.resolver,
    guard,
    // Debug, because a tenant causes these lines at will.
    onRefused: (host, addresses) => log.debug({ host, addresses }, "a webhook's host has no allowed address"),
  });
  const poster = createPoster({ guard, finder, userAgent: `Posthorn-Webhooks/${version}`, timeoutMs });
  const attempt = createAttempt({ poster, secrets, render: eventJson, nowMs: clock.nowMs });
  const { quotas } = deps;
  const service = createWebhookService({ sql, clock, secrets, quotas, check: finder.check, sendTest: attempt });

  const settler = createWebhookSettler(sql, {
    disableAfterMs,
    onDisabled: () => wake.notify("events"),
    onRead: (webhooks) => loop.note(webhooks),
  });
  // A separate worker: a loop that loses track of a lease gives up its worker id, which must not end the delivery loop's leases.
  const heartbeat = createHeartbeat({
    sql,
    log,
    clock,
    roles: ["webhooks"],
    version,
    schemaVersion,
    alone: false,
    secretKeys: secrets.ids,
    run: host.run,
  });
  const loop = createWebhookLoop({
    sql,
    log,
    worker: heartbeat,
    wake,
    nowMs: clock.nowMs,
    deliver: createDeliver({
      attempt,
      log,
      scheduleMs,
      random: Math.random,
      makeEventId: () => makeUuid(clock.nowMs()),
      readEvent: async ({ workspaceId, webhookId, id }) => {
        const [event] = (await eventsOf(sql, { workspaceId, webhookId, ids: [id] })).values();
        return event;
      },
      onAttempt: (outcome) => deps.metrics.webhookAttempts.inc({ outcome }),
    }),
    settle: (item) => settler.add(item, bytesOf(item)),
    part: host.part,
  });
  let started = false;

  return {
    service,
    async start() {
      started = true;
      await heartbeat.start();
      loop.start();
    },
    async stop() {
      if (started) {
        await loop.stop(config.drainMs);
        await settler.idle();
        await heartbeat.stop();
      }
      poster.stop();
    },
  };
}

/** In capture mode on loopback, a developer's endpoint runs on the same machine. */
function allowedRanges(config: Config): readonly string[] {
  const trying = config.delivery === "capture" && config.onLoopback;
  return trying ? [...config.allowPrivateWebhooks, "127.0.0.0/8", "::1/128"] : config.allowPrivateWebhooks;
}
