/** The wiring of DNS and domains: our DNS server, the one resolver of the program, registration and checks. Called by assemble and by commands. */
import { createDomainService } from "../api/domains.ts";
import type { ServiceEntry } from "../api/service.ts";
import { type Authoritative, createAuthoritative } from "../dns/authoritative.ts";
import { createAuthority } from "../dns/authority.ts";
import { createDomainCheck } from "../dns/domain-check.ts";
import { isReserved, localZones } from "../dns/local-zones.ts";
import { createResolver, type Resolver } from "../dns/resolver.ts";
import type { ServerAddress } from "../dns/servers.ts";
import { nameServersOf, type ServiceZone, serviceZone, type ZoneFinder, zoneList } from "../dns/zone.ts";
import { createCheckLoop } from "../domains/check-loop.ts";
import { type Checker, createChecker } from "../domains/checker.ts";
import { createKeyMaker } from "../domains/key-pair.ts";
import { isPublishable, publish } from "../domains/publish.ts";
import { createRegistrar, type Registrar } from "../domains/register.ts";
import { createRotate, type Rotate } from "../domains/rotate.ts";
import { createServedKeys } from "../domains/served-keys.ts";
import { isWithin } from "../mail/dns-record.ts";
import type { Log } from "../ops/log.ts";
import { createAddressGuard } from "../rules/address-guard.ts";
import { Problem } from "../rules/problem.ts";
import type { Sql } from "../store/db.ts";
import { getDomain } from "../store/domains.ts";
import { findPublishedZone } from "../store/published-zones.ts";
import type { Secrets } from "../store/secrets.ts";
import type { Config } from "./config.ts";

export type Dns = {
  /** The one resolver of the program: delivery, inbound and domain checks share its cache. */
  resolver: Resolver;
  authoritative: Authoritative;
  /** Judges an address that a name in somebody else's hands led to, before anything connects there. */
  allowAddress: (ip: string) => boolean;
  /** Where the DNS server listens, when this process runs it. */
  listening: ServerAddress | undefined;
  stop(): Promise<void>;
};

type DnsDeps = { config: Config; sql: Sql; log: Log; nowMs: () => number };

/** `serve`: listen as configured. Without it, a server of our own for local names is still run, on a port that nobody else knows. */
export async function startDns(deps: DnsDeps & { serve: boolean }): Promise<Dns> {
  const { config, log } = deps;
  const authority =
    deps.serve || asksItself(config)
      ? createAuthority({
          ...(deps.serve ? config.dns : { host: "127.0.0.1", port: 0 }),
          findZone: zonesOf(deps),
          onError: complaintsTo(log),
        })
      : undefined;
  if (deps.serve && publicIpsOf(config).length === 0)
    log.warn("POSTHORN_PUBLIC_IPS is not set: SPF authorises nobody and the zone's hosts have no address");
  const bound = await authority?.start();
  const own = bound && asksItself(config) ? [reachable(bound)] : undefined;
  const askOwn = (name: string) => (isReserved(name) || isWithin(name, config.zone) ? own : undefined);
  const resolver = createResolver({ servers: config.resolvers, routes: askOwn });
  const allowAddress = createAddressGuard({ allowCidrs: config.allowPrivateMx });
  return {
    resolver,
    allowAddress,
    authoritative: createAuthoritative({ resolver, allowAddress, known: askOwn, port: config.nameServerPort }),
    listening: deps.serve ? bound : undefined,
    async stop() {
      resolver.stop();
      await authority?.stop();
    },
  };
}

export type Domains = {
  service: ServiceEntry;
  registrar: Registrar;
  checker: Checker;
  rotate: Rotate;
  /** Starts the checks in the background. */
  startLoop(): void;
  stop(): Promise<void>;
};

export function createDomains(deps: DnsDeps & { secrets: Secrets; dns: Dns; onEvent?: () => void }): Domains {
  const { config, sql, log, dns } = deps;
  const { zone, region, verifyIntervalMs } = config;
  const { secrets, nowMs } = deps;
  const makeKeys = createKeyMaker();
  const registrar = createRegistrar({ sql, secrets, nowMs, makeKeys, zone, region });
  const rotate = createRotate({ sql, secrets, nowMs, makeKeys });
  const check = createDomainCheck({ resolver: dns.resolver, authoritative: dns.authoritative });
  const checker = createChecker({ sql, log, check, zone, verifyIntervalMs, onEvent: deps.onEvent });
  const loop = createCheckLoop({ sql, log, checker });
  return {
    registrar,
    checker,
    rotate,
    service: createDomainService({
      ...{ sql, zone, register: registrar.register, checker, rotate },
      servesLocally: (domain) => servesLocally(config, domain),
      async publishLocally(workspaceId, id, beginWrite) {
        const row = await getDomain(sql, workspaceId, id);
        if (!row) return undefined;
        if (config.delivery !== "capture") throw noLocalDns();
        beginWrite();
        await publish(sql, row, { zone, takeOver: false });
        return await checker.refresh(workspaceId, id);
      },
    }),
    startLoop: loop.start,
    async stop() {
      const ended = loop.stop();
      await checker.stop();
      await ended;
    },
  };
}

/** What our zone is made of, for the server and for its export as a file. */
export function serviceZoneOf(config: Config, nowMs: number): ServiceZone {
  const { zone, hostname } = config;
  return { zone, hostname, publicIps: publicIpsOf(config), serial: Math.floor(nowMs / 1000) };
}

/** In capture mode all mail stays on this machine, and so do the addresses. */
function publicIpsOf(config: Config): readonly string[] {
  return config.publicIps.length === 0 && config.delivery === "capture" ? ["127.0.0.1"] : config.publicIps;
}

/** Local names are asked of our own server in capture mode, unless the operator named resolvers: those know better. */
export function asksItself(config: Config): boolean {
  return config.delivery === "capture" && config.resolvers === undefined;
}

/** Whether a look-up finds what our own DNS can be made to serve under this name. */
export function servesLocally(config: Config, domain: string): boolean {
  return asksItself(config) && isPublishable(domain, config.zone);
}

function noLocalDns(): Problem {
  return new Problem(
    "failed_precondition",
    "This server does not run in capture mode, so its DNS serves no records of customers. Publish them at the domain's DNS provider.",
  );
}

function zonesOf({ config, sql, nowMs }: DnsDeps): ZoneFinder {
  const input = serviceZoneOf(config, nowMs());
  const service = serviceZone(input, createServedKeys({ sql }));
  if (config.delivery !== "capture") return zoneList([service]);
  return localZones({
    service,
    published: (origins) => findPublishedZone(sql, origins),
    serial: input.serial,
    nameServers: nameServersOf(input),
  });
}

/** Anybody on the internet can make answers fail: one line in ten seconds tells as much as thousands. */
function complaintsTo(log: Log): (error: unknown) => void {
  let count = 0;
  let quietUntil = 0;
  return (error) => {
    count += 1;
    if (Date.now() < quietUntil) return;
    log.warn({ reason: (error as Error).message, count }, "DNS answers failed");
    count = 0;
    quietUntil = Date.now() + 10_000;
  };
}

/** A server on all addresses is reached on this machine's own. */
function reachable({ host, port }: ServerAddress): ServerAddress {
  if (host === "0.0.0.0") return { host: "127.0.0.1", port };
  return host === "::" ? { host: "::1", port } : { host, port };
}
