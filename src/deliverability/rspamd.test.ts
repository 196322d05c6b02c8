import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";
import { patienceMs } from "../../test/harness/wait.ts";
import { askRspamd, readRspamdAnswer } from "./rspamd.ts";

test("an answer has the score, the threshold and the rules", () => {
  const answer = {
    score: 3.7000001,
    required_score: 15,
    action: "no action",
    symbols: {
      MIME_HTML_ONLY: { name: "MIME_HTML_ONLY", score: 0.2, description: "Messages that have only HTML part" },
    },
  };
  assert.deepEqual(readRspamdAnswer(JSON.stringify(answer)), {
    filter: "rspamd",
    score: 3.7,
    threshold: 15,
    isSpam: false,
    rules: [{ name: "MIME_HTML_ONLY", score: 0.2, description: "Messages that have only HTML part" }],
  });
  for (const action of ["reject", "add header", "rewrite subject"])
    assert.equal(readRspamdAnswer(JSON.stringify({ ...answer, action }))?.isSpam, true);
});

test("other texts are not answers", () => {
  for (const text of ["", "null", "[]", "{}", '{"score":"1","required_score":15}', "<html>"])
    assert.equal(readRspamdAnswer(text), undefined, text);
  const odd = '{"score":1,"required_score":15,"symbols":{"A":null,"B":{"score":"x"},"C":5}}';
  assert.deepEqual(readRspamdAnswer(odd)?.rules, []);
});

test("the message is posted with its envelope; errors, redirects and floods are errors", async (t) => {
  let reply: { status: number; headers?: Record<string, string>; body: string | Buffer };
  const seen: { url?: string; headers?: object; body?: string } = {};
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    Object.assign(seen, { url: request.url, headers: request.headers, body: Buffer.concat(chunks).toString() });
    response.writeHead(reply.status, reply.headers).end(reply.body);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  const envelope = { from: "a@example.com", recipient: "b@example.net", address: "1.2.3.4", helo: "mx.test" };
  const ask = () =>
    askRspamd(url, { message: Buffer.from("Subject: x\r\n\r\n"), envelope, signal: AbortSignal.timeout(patienceMs) });
  reply = { status: 200, body: '{"score":1,"required_score":15,"action":"no action","symbols":{}}' };
  assert.equal((await ask()).score, 1);
  const { from, rcpt, ip, helo } = seen.headers as Record<string, string>;
  assert.deepEqual(
    [seen.url, seen.body, from, rcpt, ip, helo],
    ["/checkv2", "Subject: x\r\n\r\n", "a@example.com", "b@example.net", "1.2.3.4", "mx.test"],
  );
  reply = { status: 403, body: '{"score":1,"required_score":15}' };
  await assert.rejects(ask(), /rspamd answers 403/);
  reply = { status: 302, headers: { location: url }, body: "" };
  await assert.rejects(ask());
  reply = { status: 200, body: Buffer.alloc(2 * 1024 * 1024, "x") };
  await assert.rejects(ask(), /too long/);
});
