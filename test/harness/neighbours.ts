/** Two workspaces of one program for tests of floods: one attacks with raw requests that it does not finish or read, the other one makes
 * ordinary calls that must all succeed. */
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { insertKey, makeKeySecret } from "../../src/keys/store.ts";
import { makeUuid } from "../../src/postgres/ids.ts";
import { createWorkspace } from "../../src/workspaces/store.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";
import { type Answer, type ProgramOptions, type RunningProgram, startProgram } from "./program.ts";
import { addSendingDomain } from "./testbed.ts";

export type Tenant = { key: string; workspaceId: string; domain: string };

export type Neighbours = {
  program: RunningProgram;
  database: TestDatabase;
  attacker: Tenant;
  other: Tenant;
  /** What the API port uses: connections, calls, body_bytes or answer_bytes. */
  inUse(resource: string): Promise<number>;
  /** Another key of the tenant's workspace. */
  newKey(tenant: Tenant): Promise<string>;
  /** Makes the ordinary calls of the other tenant. Each must succeed. */
  ordinaryCalls(): Promise<void>;
  stop(): Promise<void>;
};

export async function startNeighbours(options: ProgramOptions = {}): Promise<Neighbours> {
  const database = await createTestDatabase();
  const { sql } = database;
  const program = await startProgram({ databaseUrl: database.url, ...options });

  async function newKey({ workspaceId }: Pick<Tenant, "workspaceId">): Promise<string> {
    const { secret } = makeKeySecret(false);
    const id = makeUuid(Date.now());
    await insertKey(sql, { id, workspaceId, name: "made by a test", secret, permission: "full", test: false });
    return secret;
  }

  async function newTenant(domain: string): Promise<Tenant> {
    const { id: workspaceId } = await createWorkspace(sql, { id: makeUuid(Date.now()), name: domain });
    await addSendingDomain(sql, workspaceId, domain);
    return { workspaceId, domain, key: await newKey({ workspaceId }) };
  }

  const attacker = await newTenant("attacker.test");
  const other = await newTenant("other.test");
  const { key } = other;
  return {
    program,
    database,
    attacker,
    other,
    newKey,
    async inUse(resource) {
      const text = await (await fetch(`${program.opsUrl}/metrics`)).text();
      return Number(new RegExp(`^posthorn_http_in_use\\{resource="${resource}"\\} (\\S+)`, "m").exec(text)?.[1]);
    },
    async ordinaryCalls() {
      const calls: [string, object][] = [
        ["EmailService/SendEmail", emailOf(other, { body: "x".repeat(200_000), async: true })],
        ["EmailService/ListEmails", {}],
        ["KeyService/ListKeys", {}],
      ];
      for (const [method, request] of calls) requireOk(await program.call(method, request, { key }));
    },
    async stop() {
      await program.remove();
      await database.drop();
    },
  };
}

export function emailOf({ domain }: Tenant, more: object = {}) {
  return { from: `a@${domain}`, to: [`b@${domain}`], subject: "Hello", body: "Hello", ...more };
}

export function requireOk({ status, body }: Answer): Record<string, unknown> {
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

/** Checks a 429 in the form of every error of the API, with the time to come back. */
export function requireRefusal(received: string): void {
  assert.match(received, /^HTTP\/1\.1 429 /);
  assert.match(received, /\r\nretry-after: \d+\r\n/i);
  assert.match(received, /"code":"resource_exhausted"/);
  assert.match(received, /"type":"google.rpc.RetryInfo"/);
}

export type RawCall = { socket: Socket; received(): string };

export type RawCallOptions = {
  port: number;
  method: string;
  key: string;
  /** The body, or its beginning if `contentLength` is larger. */
  body: string;
  contentLength?: number;
  chunked?: boolean;
  /** False: the client does not read the answer. */
  reads?: boolean;
  localAddress?: string;
};

/** Sends a request over HTTP/1.1 on a connection of its own. */
export function rawCall(options: RawCallOptions): RawCall {
  const { port, method, key, body, contentLength = Buffer.byteLength(body), chunked, localAddress } = options;
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  socket.on("error", () => {});
  let text = "";
  if (options.reads !== false) socket.on("data", (chunk) => (text += chunk.toString("latin1")));
  const length = chunked ? "transfer-encoding: chunked" : `content-length: ${contentLength}`;
  const head = `POST /v1.${method} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnect-protocol-version: 1`;
  socket.write(`${head}\r\nauthorization: Bearer ${key}\r\n${length}\r\n\r\n`);
  socket.write(chunked ? `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n` : body);
  return { socket, received: () => text };
}
