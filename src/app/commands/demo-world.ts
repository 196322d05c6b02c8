/** The rest of the internet, as posthorn demo plays it on this machine: a DNS provider, and the mail server of two friends. */
import { createAuthority } from "../../dns/authority.ts";
import { createResolver, type Resolver } from "../../dns/resolver.ts";
import { recordsZone, textRecord, type Zone } from "../../dns/zone.ts";
import { createVerdicts } from "../../inbound/verdicts.ts";
import { isWithin, type ResourceRecord } from "../../mail/dns-record.ts";
import { createBudget } from "../../ops/budget.ts";
import type { Verdicts } from "../../rules/inbound-events.ts";
import { createCertificate } from "../../smtp/certificate.ts";
import { createSmtpServer } from "../../smtp/server.ts";
import type { IncomingMail, ServerPolicy } from "../../smtp/server-session.ts";

export const friends = "friends.test";
const here = "127.0.0.1";
const nameServer = `ns.provider.test`;

export type Taken = { mail: IncomingMail; verdicts: Verdicts };

export type DemoWorld = {
  dnsPort: number;
  mailPort: number;
  /** What anybody on this internet would use to look a name up. */
  resolver: Resolver;
  /** The friends' inboxes, in order of arrival. */
  taken: Taken[];
  /** As typing records into the provider's form. */
  publish(domain: string, records: readonly ResourceRecord[]): void;
  /** Delegates a zone to the DNS server on this port. */
  delegate(zone: string, port: number): void;
  stop(): Promise<void>;
};

export async function startDemoWorld(): Promise<DemoWorld> {
  const zones = new Map<string, Zone>();
  const publish = (origin: string, records: readonly ResourceRecord[]) =>
    void zones.set(origin, recordsZone({ origin, records, serial: 1, nameServers: [nameServer] }));
  const delegated: Resolver[] = [];
  const dns = createAuthority({
    ...{ host: here, port: 0 },
    findZone: (name) => [...zones.values()].find((zone) => isWithin(name, zone.origin)),
  });
  const { port: dnsPort } = await dns.start();
  const resolver = createResolver({ servers: [{ host: here, port: dnsPort }] });
  publish("provider.test", [{ name: nameServer, ttl: 60, type: "A", address: here }]);
  publish(friends, [
    { name: friends, ttl: 60, type: "MX", priority: 10, exchange: `mx.${friends}` },
    { name: `mx.${friends}`, ttl: 60, type: "A", address: here },
    textRecord(friends, `v=spf1 ip4:${here} -all`),
  ]);

  const taken: Taken[] = [];
  const smtp = createSmtpServer({
    ...{ host: here, port: 0, hostname: `mx.${friends}`, maxConnections: 50, maxPerAddress: 50 },
    policy: friendsPolicy(taken, resolver),
    limits: {
      ...{ messageBytes: 50 * 1024 * 1024, recipients: 100, errors: 20, messages: 100, idleCommands: 100 },
      ...{ commandMs: 60_000, dataMs: 60_000, dataTotalMs: 60_000 },
    },
    secureContext: createCertificate({
      ...{ files: undefined, hostname: `mx.${friends}`, nowMs: Date.now, onProblem() {} },
    }),
    memory: createBudget(100 * 1024 * 1024),
    onError() {},
  });
  const { port: mailPort } = await smtp.start();
  return {
    dnsPort,
    mailPort,
    resolver,
    taken,
    publish,
    delegate(zone, port) {
      const there = createResolver({ servers: [{ host: here, port }] });
      delegated.push(there);
      zones.set(zone, forwarded(zone, there));
    },
    async stop() {
      for (const one of [resolver, ...delegated]) one.stop();
      await smtp.stop(500);
      await dns.stop();
    },
  };
}

/** Ada takes her mail, Grace's server wants a second try from strangers, and nobody else lives there. */
function friendsPolicy(taken: Taken[], resolver: Resolver): ServerPolicy {
  const known = new Set<string>();
  const judge = createVerdicts({ resolver, hostname: `mx.${friends}`, onProblem() {} });
  return {
    async recipient(address) {
      const name = address.toLowerCase();
      if (name === `ada@${friends}`) return { address: name };
      if (name !== `grace@${friends}`) return { reply: "550 5.1.1 There is no such person here" };
      if (known.has(name)) return { address: name };
      known.add(name);
      return { reply: "451 4.7.1 I do not know you, try again later" };
    },
    async message(mail) {
      taken.push({ mail, verdicts: await judge(mail) });
      return "250 2.0.0 Thank you";
    },
  };
}

/** A zone that another server answers for: what it says is passed on. */
function forwarded(origin: string, there: Resolver): Zone {
  const { soa } = recordsZone({ origin, records: [], serial: 1, nameServers: [`ns1.${origin}`] });
  return {
    origin,
    soa,
    async find(name) {
      const types = ["A", "MX", "TXT", "NS"] as const;
      const answers = await Promise.all(types.map((type) => there.lookup(name, type)));
      const records = answers.flatMap((answer) => (answer.kind === "found" ? answer.records : []));
      return records.length > 0 || answers.some(({ kind }) => kind === "nodata") ? records : undefined;
    },
  };
}
