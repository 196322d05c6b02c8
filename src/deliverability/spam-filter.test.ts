import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { test } from "node:test";
import { patienceMs } from "../../test/harness/wait.ts";
import { askSpamFilter, type SpamFilterSetting } from "./spam-filter.ts";

const envelope = { from: "a@example.com", recipient: "b@example.net", address: undefined, helo: "mx.test" };
const ask = (setting: SpamFilterSetting, message = Buffer.from("Subject: x\r\n\r\n")) =>
  askSpamFilter(setting, { message, envelope, signal: AbortSignal.timeout(patienceMs) });

test("without a filter there is no score", async () => {
  assert.equal(await ask(undefined), undefined);
});

test("a filter that does not run, and a message that is too large, give no score and no detail of the network", async () => {
  const closed = { kind: "spamd", host: "127.0.0.1", port: 9 } as const;
  assert.deepEqual(await ask(closed), { unanswered: "SpamAssassin did not give a score" });
  assert.deepEqual(await ask({ kind: "rspamd", url: "http://127.0.0.1:9" }), {
    unanswered: "rspamd did not give a score",
  });
  assert.match(JSON.stringify(await ask(closed, Buffer.alloc(1024 * 1024 + 1))), /larger than 1 MB/);
});

test("the rules with the highest scores are kept, and long descriptions are cut", async (t) => {
  const lines = Array.from({ length: 80 }, (_, i) => ` ${i}.5 RULE_${i}  ${"x".repeat(300)}\n`).join("");
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => {});
    socket.resume();
    socket.on("end", () => socket.end(`SPAMD/1.1 0 EX_OK\r\nSpam: False ; 1.0 / 5.0\r\n\r\n${lines}`));
  }).listen({ port: 0, host: "127.0.0.1" });
  await once(server, "listening");
  t.after(() => server.close());
  const { port } = server.address() as { port: number };
  const facts = await ask({ kind: "spamd", host: "127.0.0.1", port });
  assert.ok(facts && "rules" in facts, JSON.stringify(facts));
  assert.deepEqual(
    [facts.rules.length, facts.rules[0]!.name, facts.rules[0]!.description.length],
    [50, "RULE_79", 200],
  );
});

test("names are cut, too, and a character that the cut splits is replaced", async (t) => {
  const symbols = { LONG: { name: "N".repeat(100_000), score: 5, description: `${"x".repeat(199)}\u{1f600}` } };
  const server = createHttpServer((request, response) => {
    request.resume();
    request.on("end", () =>
      response.end(JSON.stringify({ score: 5, required_score: 15, action: "no action", symbols })),
    );
  }).listen({ port: 0, host: "127.0.0.1" });
  await once(server, "listening");
  t.after(() => server.close());
  const { port } = server.address() as { port: number };
  const facts = await ask({ kind: "rspamd", url: `http://127.0.0.1:${port}` });
  assert.ok(facts && "rules" in facts, JSON.stringify(facts));
  const [rule] = facts.rules;
  assert.deepEqual([rule!.name.length, rule!.description], [80, `${"x".repeat(199)}\ufffd`]);
});
