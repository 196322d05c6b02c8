/** Sets up tests that send: the real program in direct mode, a scripted DNS server, an SMTP sink, and a sending domain with a
 * real key. */
import { createPrivateKey, createPublicKey } from "node:crypto";
import { makeRsaKey } from "../../src/mail/rsa-key.ts";
import { makeUuid } from "../../src/postgres/ids.ts";
import type { Sql } from "../../src/postgres/pool.ts";
import { createSecrets } from "../../src/postgres/sealing.ts";
import { createTestDatabase, type TestDatabase, type TestServer } from "./database.ts";
import { type ScriptedDns, startScriptedDns } from "./dns.ts";
import { type Answer, type ProgramOptions, type RunningProgram, startProgram, testSecret } from "./program.ts";
import { type Sink, startSink } from "./sink.ts";
import type { SinkOptions } from "./sink-script.ts";
import { until } from "./wait.ts";

export const senderDomain = "sender.test";
export const selector = "ph1";

/** One key for all testbeds of a run, because making a key takes longer than many tests. */
const privateKey = process.env.TEST_SENDER_KEY ? createPrivateKey(process.env.TEST_SENDER_KEY) : await makeRsaKey(3);
export const senderPublicKey = createPublicKey(privateKey).export({ type: "spki", format: "der" }).toString("base64");

export type WireEvent = {
  cursor: string;
  event: { id: string; type: string; emailId: string; messageId: string; metadata: Record<string, string> } & Record<
    string,
    unknown
  >;
};

export type Testbed = {
  database: TestDatabase;
  dns: ScriptedDns;
  sink: Sink;
  program: RunningProgram;
  /** The node that was started last. */
  newest(): RunningProgram;
  workspaceId: string;
  /** The settings of every node, for a test that starts a node in another way. */
  nodeEnv: Record<string, string>;
  /** Calls SendEmail; the default is an email from news@sender.test with a subject and a text. */
  send(request: Record<string, unknown>, headers?: Record<string, string>): Promise<Answer>;
  /** Makes any API call, at the newest node. A test may replace this function to route all calls elsewhere. */
  call: RunningProgram["call"];
  events(): Promise<WireEvent[]>;
  /** Waits until `enough` accepts the log, and returns the complete log. */
  untilEvents(what: string, enough: (events: WireEvent[]) => boolean): Promise<WireEvent[]>;
  /** Starts another node of the same service. `checkout` selects the program of another commit. */
  startNode(env?: Record<string, string>, checkout?: ProgramOptions["checkout"]): Promise<RunningProgram>;
  /** Starts the successor of a killed node, on the same data directory. */
  restartNode(killed: RunningProgram): Promise<RunningProgram>;
  stop(): Promise<void>;
};

export type TestbedOptions = {
  sink?: SinkOptions;
  env?: Record<string, string>;
  domains?: readonly string[];
  /** Returns the URL by which nodes reach the database, such as that of a proxy. By default the database's own. */
  reachDatabase?: (url: string) => Promise<string>;
  /** The server for the database; by default the server of the test run. */
  server?: TestServer;
  /** Runs the first node with the program of another commit, which creates the schema itself. */
  checkout?: ProgramOptions["checkout"];
};

export async function startTestbed(options: TestbedOptions = {}): Promise<Testbed> {
  const database = await createTestDatabase({ server: options.server, migrated: options.checkout === undefined });
  const dns = await startScriptedDns();
  const sink = await startSink(options.sink);
  for (const domain of options.domains ?? ["there.test", "other.test"]) mailDomain(dns, domain);
  const databaseUrl = (await options.reachDatabase?.(database.url)) ?? database.url;
  const nodes: RunningProgram[] = [];
  const nodeEnv = {
    POSTHORN_API_KEY: "the-api-key-of-every-test-testbed-0123456789",
    POSTHORN_DELIVERY: "direct",
    POSTHORN_MX_PORT: String(sink.port),
    POSTHORN_RESOLVERS: `${dns.host}:${dns.port}`,
    POSTHORN_ALLOW_PRIVATE_MX: "127.0.0.0/8",
    POSTHORN_RETRY_SCHEDULE_MS: "200",
    POSTHORN_DOUBT_SCHEDULE_MS: "200",
    ...options.env,
  };
  const startNode = async (env: Record<string, string> = {}, checkout?: ProgramOptions["checkout"]) => {
    const node = await startProgram({ databaseUrl, checkout, env: { ...nodeEnv, ...env } });
    nodes.push(node);
    return node;
  };
  const restartNode = async ({ dataDir }: RunningProgram) => {
    const node = await startProgram({ databaseUrl, dataDir, env: nodeEnv });
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
  // Open resources would keep the test process from ending.
  const { program, workspaceId } = await begin().catch(async (error) => {
    await stop();
    throw error;
  });

  const testbed: Testbed = {
    database,
    dns,
    sink,
    program,
    newest: () => nodes.at(-1)!,
    workspaceId,
    nodeEnv,
    startNode,
    restartNode,
    send: (request, headers) =>
      testbed.call(
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
        const { body } = await testbed.call("EmailService/ListEvents", { cursor, pageSize: 500 });
        all.push(...(body.data as WireEvent[]));
        if (!body.hasMore) return all;
        cursor = body.nextCursor as string;
      }
    },
    async untilEvents(what, enough) {
      return await until(what, async () => {
        const events = await testbed.events();
        return enough(events) ? events : undefined;
      });
    },
    stop,
  };
  return testbed;
}

/** Routes mail for a domain to the sink, with an MX record whose host has a local address. */
export function mailDomain(dns: ScriptedDns, domain: string, address = "127.0.0.1"): void {
  dns.set(domain, "MX", `10 mx.${domain}`);
  dns.set(`mx.${domain}`, "A", address);
}

/** Adds a verified domain with one key, as a successful check leaves it. */
export async function addSendingDomain(sql: Sql, workspaceId: string, domain: string): Promise<string> {
  const secrets = createSecrets(testSecret);
  const id = makeUuid(Date.now());
  const keyId = makeUuid(Date.now());
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }) as string;
  // The next check is a day away, because the scripted DNS server has no records for this domain.
  await sql`insert into domains (workspace_id, id, domain, token, mail_from_label, region, status, can_send, signing_slots, last_checked_at, next_check_at)
    values (${workspaceId}, ${id}, ${domain}, ${id}, 'bounce', 'local', 'ready', true, '{1}', now(), now() + interval '1 day')`;
  // Active since an hour ago: a key is active by service time, which is behind wall time when the machine is busy.
  await sql`insert into dkim_keys (workspace_id, id, domain_id, slot, label, public_key, private_key_sealed, active_from)
    values (${workspaceId}, ${keyId}, ${id}, 1, ${id}, ${senderPublicKey}, ${secrets.seal(pem, `dkim ${keyId}`)}, now() - interval '1 hour')`;
  return id;
}
