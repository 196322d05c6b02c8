/** Which private addresses webhooks may use in capture mode. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type RunningProgram, startProgram } from "../harness/program.ts";
import { type Receiver, startReceiver } from "../harness/receiver.ts";
import { violationsOf } from "../harness/sending.ts";

let database: TestDatabase;
let receiver: Receiver;
const programs: RunningProgram[] = [];
const start = async (env: Record<string, string> = {}) => {
  const apiKey = { POSTHORN_API_KEY: "the-api-key-of-this-journey-0123456789" };
  const program = await startProgram({ databaseUrl: database.url, env: { ...apiKey, ...env } });
  programs.push(program);
  return program;
};
before(async () => {
  database = await createTestDatabase();
  receiver = await startReceiver();
});
after(async () => {
  for (const program of programs) await program.remove();
  await receiver.close();
  await database.drop();
});

const create = async (program: RunningProgram, url: string) =>
  await program.call("WebhookService/CreateWebhook", { url });

test("in capture mode, a loopback-only instance posts to its own machine, and to no other private address", async () => {
  const program = await start();
  const { status, body } = await create(program, `${receiver.url}/hook`);
  assert.equal(status, 200, JSON.stringify(body));
  const { id } = body.webhook as { id: string };
  const tested = await program.call("WebhookService/SendTestWebhook", { id });
  assert.equal((tested.body.delivery as { status: string }).status, "WEBHOOK_DELIVERY_STATUS_DELIVERED");
  assert.equal(receiver.requests.length, 1);
  for (const url of ["http://10.0.0.1/", "https://10.0.0.1/", "http://169.254.169.254/", "http://93.184.215.14/"]) {
    const rejected = await create(program, url);
    assert.equal(violationsOf(rejected.body)[0]?.field, "url", url);
  }
});

test("an instance that other machines can reach does not post to its own machine", async () => {
  const program = await start({ POSTHORN_HTTP: "0.0.0.0:0" });
  const rejected = await create(program, `${receiver.url}/hook`);
  assert.match(violationsOf(rejected.body)[0]!.description, /must start with https/);
  const secure = await create(program, "https://127.0.0.1/");
  assert.match(violationsOf(secure.body)[0]!.description, /private or reserved/);
});
