/** Large answers over every protocol: all of them get the same content, and the memory is released. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Code, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { type RpcServer, startRpcServer } from "../../test/harness/rpc-server.ts";
import { until } from "../../test/harness/wait.ts";
import { EmailService } from "../gen/v1/email_pb.ts";
import { makeUuid } from "../postgres/ids.ts";
import { createAnswerMemory } from "./answer-memory.ts";
import { CallCancellation, serve } from "./call.ts";

const raw = Buffer.from(Array.from({ length: 3_000_000 }, (_, i) => (i * 31) % 251));
const html = `<p>"Grüße" 😀</p>\n`.repeat(20_000);
const reserved: number[] = [];
let listed = Promise.withResolvers<void>();
const answers = createAnswerMemory();
let server: RpcServer;
let url: string;
let authorization: string;

before(async () => {
  const service = serve(EmailService, {
    async getEmailContent(_request, call) {
      await call.reserveAnswer?.(raw.length);
      reserved.push(answers.usedBytes());
      return { raw, body: "short", html };
    },
    async listEmails() {
      listed.resolve();
      return { data: Array.from({ length: 100 }, () => ({ subject: "s".repeat(10_000) })) };
    },
    async sendEmailBatch() {
      return { data: Array.from({ length: 3_000 }, () => ({ id: makeUuid(0) })), accepted: 3_000 };
    },
  });
  server = await startRpcServer({ services: [service], maxBodyBytes: 1024 * 1024, answers });
  ({ url, authorization } = server);
});
after(async () => await server.stop());

const on1 = { httpVersion: "1.1" } as const;
const on2 = { httpVersion: "2" } as const;
const transports: [string, () => Transport][] = [
  ["Connect with JSON", () => createConnectTransport({ baseUrl: url, ...on1, useBinaryFormat: false })],
  ["Connect with JSON over HTTP/2", () => createConnectTransport({ baseUrl: url, ...on2, useBinaryFormat: false })],
  ["Connect with protobuf", () => createConnectTransport({ baseUrl: url, ...on1, useBinaryFormat: true })],
  ["gRPC", () => createGrpcTransport({ baseUrl: url })],
  ["gRPC with JSON", () => createGrpcTransport({ baseUrl: url, useBinaryFormat: false })],
  ["gRPC-Web", () => createGrpcWebTransport({ baseUrl: url, ...on1 })],
  ["gRPC-Web with JSON", () => createGrpcWebTransport({ baseUrl: url, ...on1, useBinaryFormat: false })],
];

for (const [name, transport] of transports)
  test(`a large answer is complete over ${name}, and its memory is counted until the client has it`, async () => {
    reserved.length = 0;
    const client = createClient(EmailService, transport());
    const content = await client.getEmailContent({ id: "em_x" }, { headers: { authorization } });
    assert.equal(Buffer.compare(content.raw, raw), 0);
    assert.equal(content.html, html);
    assert.equal(content.body, "short");
    assert.deepEqual(reserved, [raw.length], "held before the content is loaded");
    await until("the memory to be released", () => answers.usedBytes() === 0);
  });

for (const encoding of ["identity", "gzip"])
  test(`a chunked JSON request with accept-encoding ${encoding} gets the same`, async () => {
    const request = new ReadableStream({
      start(controller) {
        controller.enqueue(Buffer.from('{"id":"em_x"}'));
        controller.close();
      },
    });
    const answer = await fetch(`${url}/v1.EmailService/GetEmailContent`, {
      method: "POST",
      headers: {
        authorization,
        "content-type": "application/json",
        "connect-protocol-version": "1",
        "accept-encoding": encoding,
      },
      body: request,
      duplex: "half",
    } as RequestInit);
    const content = (await answer.json()) as { raw: string; html: string; body: string };
    assert.equal(Buffer.compare(Buffer.from(content.raw, "base64"), raw), 0);
    assert.deepEqual([content.html, content.body], [html, "short"]);
    await until("the memory to be released", () => answers.usedBytes() === 0);
  });

for (const [name, transport] of transports.filter(([name]) => /^(Connect with JSON|gRPC)$/.test(name)))
  test(`without memory for large answers, a call over ${name} that reads is refused, and one that has stored something is answered`, async () => {
    const holding = answers.open(server.workspaceId, new CallCancellation());
    await holding.hold(Number.MAX_SAFE_INTEGER);
    const client = createClient(EmailService, transport());
    const { data } = await client.sendEmailBatch({ emails: [] }, { headers: { authorization } });
    assert.equal(data.length, 3_000);
    const options = { headers: { authorization }, timeoutMs: 500 };
    await assert.rejects(client.getEmailContent({ id: "em_x" }, options), { code: Code.DeadlineExceeded });
    holding.release();
    await client.getEmailContent({ id: "em_x" }, { headers: { authorization } });
    await until("the memory to be released", () => answers.usedBytes() === 0);
  });

for (const [name, transport] of transports)
  test(`the memory of a long list is counted over ${name}, too`, async () => {
    listed = Promise.withResolvers();
    const holding = answers.open(server.workspaceId, new CallCancellation());
    await holding.hold(Number.MAX_SAFE_INTEGER);
    const client = createClient(EmailService, transport());
    let done = false;
    const listing = client.listEmails({}, { headers: { authorization } }).finally(() => (done = true));
    await listed.promise;
    // A call that starts later and waits for nothing overtakes the one that waits for memory.
    await client.sendEmailBatch({ emails: [] }, { headers: { authorization } });
    assert.equal(done, false);
    holding.release();
    assert.equal((await listing).data.length, 100);
    await until("the memory to be released", () => answers.usedBytes() === 0);
  });
