/** Floods of ordinary calls of one tenant, with several keys: the limits are those of its workspace, and another tenant's calls succeed. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { type Neighbours, requireOk, startNeighbours } from "../harness/neighbours.ts";
import type { Answer } from "../harness/program.ts";
import { until } from "../harness/wait.ts";

let all: Neighbours;
before(async () => {
  all = await startNeighbours({
    env: { POSTHORN_RATE_PER_SECOND: "1", POSTHORN_RATE_BURST: "200", POSTHORN_DATABASE_POOL: "4" },
  });
});
after(async () => await all.stop());

/** The answers that are refusals, each with the time to come back. */
function refusalsOf(answers: readonly Answer[]): Answer[] {
  const refused = answers.filter(({ status }) => status !== 200);
  for (const { status, headers, body } of refused) {
    assert.equal(status, 429, JSON.stringify(body));
    assert.ok(Number(headers.get("retry-after")) >= 1);
    assert.match(JSON.stringify(body.details), /RetryInfo/);
  }
  return refused;
}

async function listening(server: Server): Promise<Server> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

test("56 AddDomain calls at once: some are refused, and another tenant's succeeds", async () => {
  const { program, attacker, other } = all;
  const add = (key: string, domain: string) => program.call("DomainService/AddDomain", { domain }, { key });
  const flood = Promise.all(Array.from({ length: 56 }, (_, i) => add(attacker.key, `a${i}.test`)));
  requireOk(await add(other.key, "wanted.test"));
  const refused = refusalsOf(await flood);
  assert.ok(refused.length > 0 && refused.length < 56);
});

test("test events to an endpoint that hangs are limited by workspace", async (t) => {
  const { program, attacker, other } = all;
  const hanging = await listening(createServer(() => {}));
  const healthy = await listening(
    createServer((request, response) => void request.resume().on("end", () => response.end())),
  );
  t.after(() => {
    for (const server of [hanging, healthy]) server.closeAllConnections();
    for (const server of [hanging, healthy]) server.close();
  });
  const webhook = async (key: string, server: Server) => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const { webhook } = requireOk(await program.call("WebhookService/CreateWebhook", { url }, { key }));
    return (webhook as { id: string }).id;
  };
  const test = (key: string, id: string) => program.call("WebhookService/SendTestWebhook", { id }, { key });
  const [theirs, ours] = [await webhook(attacker.key, hanging), await webhook(other.key, healthy)];
  const answers: Answer[] = [];
  const flood = Array.from({ length: 12 }, () => test(attacker.key, theirs).then((answer) => answers.push(answer)));
  await until("refusals", () => answers.length === 4);
  assert.equal(refusalsOf(answers).length, 4);
  requireOk(await test(other.key, ours));
  hanging.closeAllConnections();
  await Promise.all(flood);
});

test("imports of one workspace run one after the other, and another workspace's import does not wait for them", async () => {
  const { program, attacker, other } = all;
  const lines = (name: string, count: number) =>
    `address\n${Array.from({ length: count }, (_, i) => `${name}${i}@there.test`).join("\n")}\n`;
  const load = (key: string, csv: string) => program.call("SuppressionService/ImportSuppressions", { csv }, { key });
  const flood = Array.from({ length: 10 }, (_, i) => load(attacker.key, lines(`a${i}-`, 20_000)));
  requireOk(await load(other.key, lines("b", 10)));
  const refused = refusalsOf(await Promise.all(flood));
  assert.ok(refused.length > 0 && refused.length < 10);
});

// Last: it uses up the rate limit.
test("the rate limit is the limit of a workspace, whatever the number of its keys", async () => {
  const { program, attacker, other } = all;
  const keys = [attacker.key, await all.newKey(attacker), await all.newKey(attacker)];
  const answers: Answer[] = [];
  for (let i = 0; i < 70; i++)
    answers.push(...(await Promise.all(keys.map((key) => program.call("KeyService/ListKeys", {}, { key })))));
  const refused = refusalsOf(answers);
  assert.ok(refused.length > 0);
  for (const key of keys) refusalsOf([await program.call("KeyService/ListKeys", {}, { key })]);
  assert.match(String(refused[0]!.body.message), /rate limit of this workspace/);
  requireOk(await program.call("KeyService/ListKeys", {}, { key: other.key }));
});

test("a flood of refused calls is slowed down, whatever deadline it names, and another tenant's calls are answered", async () => {
  const { program, attacker, other } = all;
  const slowed = async () => {
    const text = await (await fetch(`${program.opsUrl}/metrics`)).text();
    return Number(/^posthorn_slowed_refusals_total (\d+)/m.exec(text)?.[1]);
  };
  const flood = async (key: string, code: string, headers: Record<string, string> = {}) => {
    const before = await slowed();
    const call = async () =>
      assert.equal((await program.call("KeyService/ListKeys", {}, { key, headers })).body.code, code);
    await until(`slower answers with ${code}`, async () => {
      await Promise.all(Array.from({ length: 100 }, call));
      return (await slowed()) > before;
    });
    requireOk(await program.call("KeyService/ListKeys", {}, { key: other.key }));
  };
  await flood(attacker.key, "resource_exhausted");
  await flood("a wrong key", "unauthenticated");
  await flood("a wrong key", "deadline_exceeded", { "connect-timeout-ms": "0" });
  await flood("a wrong key", "invalid_argument", { "connect-protocol-version": "2" });
});
