/** The client against the real program: keys, validation errors, rejected sends, converted content. */
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { after, before, test } from "node:test";
import type { RunningProgram } from "../../test/harness/program.ts";
import { Posthorn, type PosthornError } from "../src/index.ts";
import { type RunningClient, startClient } from "./client.ts";
import { rejection } from "./peer.ts";

let running: RunningClient;
let program: RunningProgram;
let posthorn: Posthorn;

before(async () => {
  running = await startClient({ POSTHORN_PUBLIC_URL: "https://mail.posthorn.test" });
  ({ program, posthorn } = running);
});
after(async () => await running?.stop());

test("keys are created, listed across pages, used and revoked", async () => {
  const created = [];
  for (const name of ["one", "two", "three"]) created.push(await posthorn.keys.create({ name, permission: "read" }));
  const names: string[] = [];
  for await (const key of posthorn.keys.list({ pageSize: 2 })) names.push(key.name);
  assert.deepEqual(names.slice(0, 3), ["three", "two", "one"]);
  const reader = new Posthorn({ apiKey: created[0]!.secret, baseUrl: program.url });
  assert.equal((await reader.keys.list({ pageSize: 1 })).data[0]!.permission, "KEY_PERMISSION_READ");
  const denied = await rejection<PosthornError>(reader.keys.create({ name: "more", permission: "full" }));
  assert.equal(denied.code, "permission_denied");
  const { key } = await posthorn.keys.revoke(created[0]!.key.id);
  assert.ok(key.revokedAt);
  assert.equal((await rejection<PosthornError>(reader.keys.list())).code, "unauthenticated");
});

test("keys have scopes and limits, and are changed and rotated", async () => {
  const expiresAt = new Date(Date.now() + 86_400_000);
  const limits = { allowedRecipients: ["*.staging.test"], allowedAddresses: ["127.0.0.1", "::1"], expiresAt };
  const { key, secret } = await posthorn.keys.create({ name: "staging", scopes: ["send", "stats"], ...limits });
  assert.deepEqual([key.permission, key.scopes], ["KEY_PERMISSION_UNSPECIFIED", ["KEY_SCOPE_SEND", "KEY_SCOPE_STATS"]]);
  assert.equal(new Date(key.expiresAt!).getTime(), expiresAt.getTime());
  const staging = new Posthorn({ apiKey: secret, baseUrl: program.url });
  assert.equal((await rejection<PosthornError>(staging.keys.list())).code, "permission_denied");
  const changed = await posthorn.keys.update(key.id, {
    scopes: ["manage", "send"],
    neverExpires: true,
    name: "renamed",
  });
  assert.deepEqual([changed.key.name, changed.key.expiresAt], ["renamed", undefined]);
  await staging.keys.list();
  const rotated = await posthorn.keys.rotate(key.id, { overlapSeconds: 0 });
  assert.equal(rotated.key.rotatedFrom, key.id);
  assert.equal((await rejection<PosthornError>(staging.keys.list())).code, "unauthenticated");
  await new Posthorn({ apiKey: rotated.secret, baseUrl: program.url }).keys.list();
});

test("an error names every invalid field and has the request id from the server's log", async () => {
  const error = await rejection<PosthornError>(
    posthorn.keys.create({ name: "", permission: "KEY_PERMISSION_UNSPECIFIED" }),
  );
  assert.equal(error.code, "invalid_argument");
  assert.deepEqual(error.violations.map(({ field }) => field).sort(), ["name", "permission"]);
  assert.match(error.requestId!, /^[0-9a-f-]{36}$/);
});

test("an email without content is rejected, alone and in a batch, and the error names the field", async () => {
  const blank = { from: "shop@nowhere.example", to: "ada@example.net", subject: "Hello" };
  const error = await rejection<PosthornError>(posthorn.emails.send(blank));
  assert.equal(error.code, "invalid_argument");
  const violations = [{ field: "body", description: "is required: an email needs body, html or an attachment" }];
  assert.deepEqual(error.violations, violations);
  assert.match(error.message, /an email needs body, html or an attachment/);
  const { data, refused } = await posthorn.emails.sendBatch([blank]);
  assert.equal(refused, 1);
  assert.deepEqual([data[0]!.error!.code, data[0]!.error!.violations], ["invalid_argument", violations]);
});

test("a send from an unregistered domain is rejected with the domain's name", async () => {
  const email = { from: "shop@nowhere.example", to: "ada@example.net", subject: "Hello", body: "Hello" };
  const error = await rejection<PosthornError>(posthorn.emails.send(email));
  assert.equal(error.code, "failed_precondition");
  assert.match(error.message, /nowhere\.example/);
});

test("address objects, text from HTML and attachments from a path and a stream arrive in the message", async () => {
  const { id } = await posthorn.emails.send({
    from: { name: "Shop, Inc.", address: "shop@example.test" },
    to: [{ name: 'Ada "Countess"', address: "ada@example.test" }],
    subject: "Hello",
    html: '<p>Hello <b>Ada</b></p><ul><li><a href="https://example.test/1">Order 1</a></ul>',
    attachments: [
      { path: new URL("../LICENSE", import.meta.url), filename: "license.txt" },
      { content: Readable.from(["a,b\n", "1,2\n"]), filename: "items.csv" },
      { url: "data:image/gif;base64,R0lGODlhAQABAAAAACw=", filename: "dot.gif", contentId: "dot" },
    ],
  });
  const { raw, body } = await posthorn.emails.content(id);
  assert.equal(body.trimEnd(), "Hello Ada\n\n- Order 1 <https://example.test/1>");
  const message = new TextDecoder().decode(raw);
  assert.match(message, /^From: "Shop, Inc\." <shop@example\.test>\r$/m);
  assert.match(message, /^To: "Ada \\"Countess\\"" <ada@example\.test>\r$/m);
  const { attachments } = await posthorn.emails.get(id);
  assert.deepEqual(
    attachments.map(({ filename, contentType, contentId }) => [filename, contentType, contentId]),
    [
      ["license.txt", "text/plain", ""],
      ["items.csv", "text/csv", ""],
      ["dot.gif", "image/gif", "dot"],
    ],
  );
  assert.equal(attachments[1]!.sizeBytes, 8);
});

test("an email with a topic has the fields of one-click unsubscribe, alone and in a batch", async () => {
  const email = {
    from: "shop@example.test",
    to: "ada@example.test",
    subject: "News",
    body: "Hello",
    unsubscribe: { topic: "news" },
  };
  const { id } = await posthorn.emails.send(email);
  const { data } = await posthorn.emails.sendBatch([email]);
  for (const sent of [id, data[0]!.id]) {
    const message = new TextDecoder().decode((await posthorn.emails.content(sent)).raw);
    assert.match(message, /^List-Unsubscribe: <https:\/\/mail\.posthorn\.test\/unsubscribe\//m);
    assert.match(message, /^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r$/m);
  }
  const both = { ...email, to: ["ada@example.test", "bob@example.test"] };
  assert.match((await rejection<PosthornError>(posthorn.emails.send(both))).message, /SendEmailBatch/);
});
