/** Sets up tests of domains: the real program, a real BIND where customers publish records, and a real Unbound as the
 * resolver between them. */
import { type Bind, startBind } from "./bind.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";
import { domainOf, type WireDomain, zone } from "./domain-answers.ts";
import { needs } from "./foreign.ts";
import { freePort } from "./free-port.ts";
import { runPeer } from "./peer.ts";
import { type RunningProgram, startProgram } from "./program.ts";
import { startUnbound, type Unbound } from "./unbound.ts";

export * from "./domain-answers.ts";

export const withoutPeers = needs("named", "nsupdate", "dig", "unbound", "unbound-control");

export type CustomerTestbed = {
  database: TestDatabase;
  program: RunningProgram;
  bind: Bind;
  unbound: Unbound;
  add(domain: string, key?: string): Promise<WireDomain>;
  get(id: string, key?: string): Promise<WireDomain>;
  /** Checks the domain with what the resolver has cached. */
  verify(id: string, key?: string): Promise<WireDomain>;
  /** Flushes the resolver's cache, then checks the domain. */
  verifyLater(id: string, key?: string): Promise<WireDomain>;
  dig(at: { port: number }, ...words: string[]): Promise<string>;
  stop(): Promise<void>;
};

export async function startCustomerTestbed(zones: readonly string[]): Promise<CustomerTestbed> {
  const database = await createTestDatabase();
  const bind = await startBind({ zones });
  const dnsPort = await freePort();
  const unbound = await startUnbound({
    zones: { [zone]: dnsPort, ...Object.fromEntries(zones.map((name) => [name, bind.port])) },
  });
  const program = await startProgram({
    databaseUrl: database.url,
    env: {
      POSTHORN_DNS: `127.0.0.1:${dnsPort}`,
      POSTHORN_RESOLVERS: `127.0.0.1:${unbound.port}`,
      POSTHORN_NS_PORT: String(bind.port),
      POSTHORN_ALLOW_PRIVATE_MX: "127.0.0.0/8",
      POSTHORN_VERIFY_INTERVAL_MS: "0",
    },
  });
  const call = async (method: string, request: unknown, key = program.key) =>
    domainOf(await program.call(`DomainService/${method}`, request, { key }));
  const verify = (id: string, key?: string) => call("VerifyDomain", { id }, key);
  return {
    database,
    program,
    bind,
    unbound,
    verify,
    add: (domain, key) => call("AddDomain", { domain }, key),
    get: (id, key) => call("GetDomain", { id }, key),
    async verifyLater(id, key) {
      for (const name of zones) await unbound.flush(name);
      return await verify(id, key);
    },
    dig: (at, ...words) => runPeer("dig", ["@127.0.0.1", "-p", String(at.port), ...words]),
    async stop() {
      await program.remove();
      await unbound.stop();
      await bind.stop();
      await database.drop();
    },
  };
}
