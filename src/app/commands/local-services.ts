/** The API's services on the local store, each created when a command first calls it: loading all of them takes most of a second.
 * Used by local-api.ts. */
import type { ServiceEntry } from "../../http/call.ts";
import type { Clock } from "../../ops/clock.ts";
import { silentLog } from "../../ops/log.ts";
import { Problem } from "../../ops/problem.ts";
import type { Sql } from "../../postgres/pool.ts";
import { createWake, type Wake } from "../../postgres/wake.ts";
import type { Quotas } from "../../quotas/quotas.ts";
import type { Dns } from "../assemble/domains.ts";
import type { Config } from "../config.ts";
import type { Store } from "../open-store.ts";

export type LocalStore = Store & { nowMs(): number; clock: Clock };

type Deps = {
  config: Config;
  store: LocalStore;
  wake(): Promise<Wake>;
  dns(): Promise<Dns>;
  /** Runs `stop` when the command ends, in the reverse order of these calls. */
  atEnd(stop: () => Promise<void> | void): void;
};

const log = silentLog();

const loaders: Record<string, (deps: Deps) => Promise<ServiceEntry>> = {
  EmailService: emails,
  DomainService: domains,
  async KeyService({ config, store: { sql, clock } }) {
    const { createKeyService } = await import("../../keys/service.ts");
    return createKeyService({ sql, clock, quotas: withoutQuotas(sql, config) });
  },
  async WebhookService({ config, store, wake, dns, atEnd }) {
    const [{ createWebhooks }, { createMetrics }] = await Promise.all([
      import("../assemble/webhooks.ts"),
      import("../../ops/metrics.ts"),
    ]);
    const { resolver } = await dns();
    const quotas = withoutQuotas(store.sql, config);
    const deps = { config, log, metrics: createMetrics(), clock: store.clock, wake: await wake(), store, quotas };
    const webhooks = createWebhooks({ ...deps, resolver });
    atEnd(webhooks.stop);
    return webhooks.service;
  },
  async SuppressionService({ store: { sql } }) {
    return (await import("../../suppressions/service.ts")).createSuppressionService({ sql });
  },
  async InboundService({ config, store: { sql, contents }, dns, atEnd }) {
    const [{ createInboundService }, { createInboundReader }, { createMetrics }] = await Promise.all([
      import("../../inbound/service.ts"),
      import("../assemble/inbound.ts"),
      import("../../ops/metrics.ts"),
    ]);
    const { resolver } = await dns();
    const { reader, stop } = createInboundReader({ config, log, metrics: createMetrics(), resolver });
    atEnd(stop);
    return createInboundService({ sql, contents, reader });
  },
  async QueueService({ store: { sql, clock }, wake }) {
    return (await import("../../queue/service.ts")).createQueueService({ sql, clock, wake: await wake() });
  },
  async StatsService({ store: { sql, clock } }) {
    return (await import("../../stats/service.ts")).createStatsService({ sql, clock });
  },
  async ReportService({ config, store: { sql, clock }, dns }) {
    const { createReports } = await import("../assemble/reports.ts");
    const { resolver } = await dns();
    return createReports({ config, sql, clock, resolver });
  },
  async AuditService({ store: { sql } }) {
    return (await import("../../audit/service.ts")).createAuditService({ sql });
  },
  async DeliverabilityService({ config, store: { sql, contents, secrets, nowMs }, dns, atEnd }) {
    const [{ createDeliverability }, { createInboundReader }, { createComposer }, { createMetrics }, links] =
      await Promise.all([
        import("../assemble/deliverability.ts"),
        import("../assemble/inbound.ts"),
        import("../../delivery/compose/pool.ts"),
        import("../../ops/metrics.ts"),
        import("../../suppressions/unsubscribe/links.ts"),
      ]);
    const { resolver } = await dns();
    const { reader, stop } = createInboundReader({ config, log, metrics: createMetrics(), resolver });
    const composer = createComposer({ threads: 1 });
    atEnd(stop);
    atEnd(composer.stop);
    const unsubscribeLinks = links.createUnsubscribeLinks({ sql, secrets, publicUrl: config.publicUrl });
    const parts = { config, sql, contents, secrets, resolver, composer, reader, unsubscribeLinks, nowMs };
    return createDeliverability({ ...parts, isLimited: false });
  },
  async WorkspaceService({ config, store: { sql, clock } }) {
    const { createWorkspaceService } = await import("../../workspaces/service.ts");
    const invitations = {
      invite: async () => {
        throw new Problem("unimplemented", "Invite people with: posthorn people invite EMAIL");
      },
    };
    const quotas = withoutQuotas(sql, config);
    const mostOwned = { established: null, fromSignUp: null };
    return createWorkspaceService({ sql, clock, invitations, quotas, signUpIsOpen: false, mostOwned });
  },
};

export function createLocalServices({ config, store }: { config: Config; store: LocalStore }) {
  const stops: (() => Promise<void> | void)[] = [];
  const { sql, nowMs } = store;
  const deps: Deps = {
    config,
    store,
    atEnd: (stop) => stops.push(stop),
    wake: once(async () => {
      const wake = createWake({ sql, log });
      stops.push(wake.stop);
      return wake;
    }),
    dns: once(async () => {
      const { startDns } = await import("../assemble/domains.ts");
      const dns = await startDns({ config, sql, log, nowMs, serve: false });
      stops.push(dns.stop);
      return dns;
    }),
  };
  const created = new Map<string, Promise<ServiceEntry>>();
  return {
    async get(name: string): Promise<ServiceEntry> {
      const load = Object.hasOwn(loaders, name) ? loaders[name]! : undefined;
      if (!load) throw new Problem("unimplemented", `${name} cannot be called on the local data directory.`);
      if (!created.has(name)) created.set(name, load(deps));
      return await created.get(name)!;
    },
    async stop(): Promise<void> {
      for (const stop of stops.splice(0).reverse()) await stop();
    },
  };
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

async function emails({
  config,
  store: { sql, contents, clock, secrets },
  wake: getWake,
  atEnd,
}: Deps): Promise<ServiceEntry> {
  const [links, accepts, services, catchUps, followers, composing, digest, reading, loops] = await Promise.all([
    import("../../suppressions/unsubscribe/links.ts"),
    import("../../emails/accept.ts"),
    import("../../emails/service.ts"),
    import("../../events/catch-up.ts"),
    import("../../events/follower.ts"),
    import("../../mail/compose.ts"),
    import("../../mail/message/digest.ts"),
    import("../../mail/message/read.ts"),
    import("../../shares/loop-share.ts"),
  ]);
  const wake = await getWake();
  await wake.start();
  const catchUp = catchUps.createCatchUp({ sql, loop: loops.createLoopShare(), heap: { note() {} } });
  const follower = followers.createFollower({ sql, log, wake, catchUp });
  follower.start();
  const { limits, quotas, retry, stream } = config;
  const unsubscribeLinks = links.createUnsubscribeLinks({ sql, secrets, publicUrl: config.publicUrl });
  const accept = accepts.createAccept({
    sql,
    contents,
    clock,
    wake,
    limits,
    quotas,
    unsubscribeLinks,
    retryForMs: retry.forMs,
  });
  const stopping = new AbortController();
  atEnd(async () => {
    stopping.abort();
    follower.stop();
    await accept.idle();
  });
  return services.createEmailService({
    sql,
    contents,
    clock,
    wake,
    accept,
    compose: async (email) => ({ raw: composing.compose(email) }),
    readTexts: async (_, raw) => digest.textsOf(reading.readMessage(raw)),
    // A stream without a key ends when the command does.
    follower: { ...follower, subscribe: (workspaceId) => follower.subscribe(workspaceId, undefined) },
    catchUp,
    waitForFirstAttempt: services.createWaitForFirstAttempt({ sql, wake }),
    stopping: stopping.signal,
    heartbeatMs: stream.heartbeatMs,
  });
}

async function domains({ config, store, dns: getDns, atEnd }: Deps): Promise<ServiceEntry> {
  const { createDomains } = await import("../assemble/domains.ts");
  const { sql, secrets, nowMs } = store;
  const dns = await getDns();
  const part = createDomains({ config, sql, log, nowMs, secrets, dns, checksAlways: true });
  atEnd(part.stop);
  return part.service;
}

function withoutQuotas(sql: Sql, { quotas: defaults }: Config): Quotas {
  return {
    defaults,
    async check() {},
    adding: async (_workspaceId, _kind, add) => await sql.begin(add),
    limitOf: async () => null,
    review() {},
    async reviewNow() {},
    async idle() {},
  };
}
