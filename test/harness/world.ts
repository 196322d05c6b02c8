/** A whole small world for sending journeys: the real program in direct mode, a DNS server and an SMTP sink that take orders, a
 * sending domain with a real key, and a ledger of what was asked for. */
import { createPrivateKey, createPublicKey } from "node:crypto";
import { makeRsaKey } from "../../src/mail/rsa-key.ts";
import type { Sql } from "../../src/store/db.ts";
import { makeUuid } from "../../src/store/ids.ts";
import { createSecrets } from "../../src/store/secrets.ts";
import { createTestDatabase, type TestDatabase, type TestServer } from "./database.ts";
import { type ScriptedDns, startScriptedDns } from "./dns.ts";
import { type Answer, type ProgramOptions, type RunningProgram, startProgram, testSecret } from "./program.ts";
import { type Sink, type SinkOptions, startSink } from "./sink.ts";
import { until } from "./wait.ts";

export const senderDomain = "sender.test";
export const selector = "ph1";

/** One key for all worlds of a run: making one takes longer than many a journey. */
const privateKey = process.env.TEST_SENDER_KEY ? createPrivateKey(process.env.TEST_SENDER_KEY) : await makeRsaKey();
export const senderPublicKey = createPublicKey(privateKey).export({ type: "spki", format: "der" }).toString("base64");

export type WireEvent = {
  cursor: string;
  event: { id: string; type: string; emailId: string; messageId: string; metadata: Record<string, string> } & Record<
    string,
    unknown
  >;
};

export type World = {
  database: TestDatabase;
  dns: ScriptedDns;
  sink: Sink;
  program: RunningProgram;
  workspaceId: string;
  /** The settings of every node, for a test that starts one by other means. */
  nodeEnv: Record<string, string>;
  /** SendEmail from news@sender.test with a subject and a text, unless the request says otherwise. */
  send(request: Record<string, unknown>, headers?: Record<string, string>): Promise<Answer>;
  /** Any call, of the newest node; whoever puts another way here sends everything along it. */
  call: RunningProgram["call"];
  events(): Promise<WireEvent[]>;
  /** Waits until the log holds what `enough` wants, and gives the whole log. */
  untilEvents(what: string, enough: (events: WireEvent[]) => boolean): Promise<WireEvent[]>;
  /** Another node of the same service, or the same one again after a kill; of another commit by its checkout. */
  startNode(env?: Record<string, string>, checkout?: ProgramOptions["checkout"]): Promise<RunningProgram>;
  stop(): Promise<void>;
};

export type WorldOptions = {
  sink?: SinkOptions;
  env?: Record<string, string>;
  domains?: readonly string[];
  /** Where the database is made; the run's server otherwise. */
  server?: TestServer;
  /** The first node is that of another commit, which makes the schema itself. */
  checkout?: ProgramOptions["checkout"];
};

export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const database = await createTestDatabase({ server: options.server, migrated: options.checkout === undefined });
  const dns = await startScriptedDns();
  const sink = await startSink(options.sink);
  for (const domain of options.domains ?? ["there.test", "other.test"]) mailDomain(dns, domain);
  const nodes: RunningProgram[] = [];
  const nodeEnv = {
    POSTHORN_API_KEY: "the-api-key-of-every-test-world-0123456789",
    POSTHORN_DELIVERY: "direct",
    POSTHORN_MX_PORT: String(sink.port),
    POSTHORN_RESOLVERS: `${dns.host}:${dns.port}`,
    POSTHORN_ALLOW_PRIVATE_MX: "127.0.0.0/8",
    POSTHORN_RETRY_SCHEDULE_MS: "200",
    ...options.env,
  };
  const startNode = async (env: Record<string, string> = {}, checkout?: ProgramOptions["checkout"]) => {
    const node = await startProgram({ databaseUrl: database.url, checkout, env: { ...nodeEnv, ...env } });
    nodes.push(node);
    return node;
  };
  const stop = async () => {
    for (const node of nodes) await node.remove();
    await sink.close();
    await dns.stop();
    await database.drop();
  };
  const begin = async () => {
    const program = await startNode({}, options.checkout);
    const [row] = await database.sql<{ value: string }[]>`select value from settings where name = 'first_workspace'`;
    await addSendingDomain(database.sql, row!.value, senderDomain);
    return { program, workspaceId: row!.value };
  };
  // What stays open would keep the test's process from ending.
  const { program, workspaceId } = await begin().catch(async (error) => {
    await stop();
    throw error;
  });

  const world: World = {
    database,
    dns,
    sink,
    program,
    workspaceId,
    nodeEnv,
    startNode,
    send: (request, headers) =>
      world.call(
        "EmailService/SendEmail",
        {
          from: `News <news@${senderDomain}>`,
          to: ["a@there.test"],
          subject: "Hello",
          body: "Hello there",
          ...request,
        },
        { headers },
      ),
    call: (...args) => nodes.at(-1)!.call(...args),
    async events() {
      const all: WireEvent[] = [];
      for (let cursor = ""; ; ) {
        const { body } = await world.call("EmailService/ListEvents", { cursor, pageSize: 500 });
        all.push(...(body.data as WireEvent[]));
        if (!body.hasMore) return all;
        cursor = body.nextCursor as string;
      }
    },
    async untilEvents(what, enough) {
      return await until(what, async () => {
        const events = await world.events();
        return enough(events) ? events : undefined;
      });
    },
    stop,
  };
  return world;
}

/** Mail for a domain goes to the sink: an MX whose address is this machine. */
export function mailDomain(dns: ScriptedDns, domain: string, address = "127.0.0.1"): void {
  dns.set(domain, "MX", `10 mx.${domain}`);
  dns.set(`mx.${domain}`, "A", address);
}

/** A verified domain with one key, as a passed check leaves it behind. */
export async function addSendingDomain(sql: Sql, workspaceId: string, domain: string): Promise<string> {
  const secrets = createSecrets(testSecret);
  const id = makeUuid(Date.now());
  const keyId = makeUuid(Date.now());
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }) as string;
  // Far from its next check: the world's DNS knows nothing of this domain's records.
  await sql`insert into domains (workspace_id, id, domain, token, mail_from_label, region, status, can_send, signing_slots, last_checked_at, next_check_at)
    values (${workspaceId}, ${id}, ${domain}, ${id}, 'bounce', 'local', 'ready', true, '{1}', now(), now() + interval '1 day')`;
  await sql`insert into dkim_keys (workspace_id, id, domain_id, slot, label, public_key, private_key_sealed)
    values (${workspaceId}, ${keyId}, ${id}, 1, ${id}, ${senderPublicKey}, ${secrets.seal(pem, `dkim ${keyId}`)})`;
  return id;
}
