import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { compose } from "../../mail/compose.ts";
import { Problem } from "../../ops/problem.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { createSecrets } from "../../postgres/sealing.ts";
import { createUnsubscribeLinks, linkPath, unsubscribeFields } from "./links.ts";
import type { Link } from "./rules/token.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

const publicUrl = "https://mail.example.com";
const secrets = createSecrets("a secret of at least 32 characters, for tests");
const open = (url: string | undefined = publicUrl) =>
  createUnsubscribeLinks({ sql: database.sql, secrets, publicUrl: url });
const link: Link = {
  workspaceId: makeUuid(1),
  emailId: makeUuid(2),
  address: "ada@example.net",
  topic: "news",
  domain: "example.com",
  test: false,
};

test("nodes that start at the same time share one key, and read each other's links", async () => {
  const nodes = Array.from({ length: 5 }, () => open());
  const urls = await Promise.all(nodes.map((node) => node.make(link)));
  assert.equal(new Set(urls).size, 1);
  const token = urls[0]!.slice(`${publicUrl}${linkPath}`.length);
  assert.deepEqual(await open().read(token), link);
  const rows = await database.sql<{ sealed: string }[]>`select key_sealed as sealed from unsubscribe_keys`;
  assert.equal(rows.length, 1);
  assert.match(rows[0]!.sealed, /^s1\./);
});

test("a node that starts after the key was deleted makes another one, and knows no earlier link", async () => {
  const tokenOf = (url: string) => url.slice(`${publicUrl}${linkPath}`.length);
  const earlier = tokenOf(await open().make(link));
  await database.sql`delete from unsubscribe_keys`;
  const node = open();
  const later = tokenOf(await node.make(link));
  assert.equal(await node.read(earlier), undefined);
  assert.deepEqual(await node.read(later), link);
});

test("without a public https address there is no link, and the reason names the setting", async () => {
  for (const url of [
    undefined,
    "http://mail.example.com",
    "https://localhost:8443",
    "https://mail.localhost",
    "https://127.0.0.2",
    "https://[::1]",
    "https://localhost.",
    "https://0.0.0.0",
    "https://[::]",
    "https://[::ffff:127.0.0.1]",
    "https://[::ffff:0.0.0.0]",
  ]) {
    const links = createUnsubscribeLinks({ sql: database.sql, secrets, publicUrl: url });
    const isRefused = (error: unknown) =>
      error instanceof Problem && error.code === "failed_precondition" && /POSTHORN_PUBLIC_URL is/.test(error.message);
    assert.throws(() => links.requirePublicUrl(), isRefused);
    await assert.rejects(links.make(link), isRefused);
  }
});

test("the longest link is on one line of the message, unchanged", async () => {
  const longest = {
    ...link,
    topic: "t".repeat(64),
    address: `${"a".repeat(64)}@${"d".repeat(185)}.test`,
    domain: "e".repeat(80),
  };
  const url = await open(`https://${"h".repeat(240)}.test`).make(longest);
  const address = { name: "", local: "a", address: "a@b.test", domain: "b.test", smtputf8: false };
  const message = compose({
    id: "em_01938a52-10aa-7c3d-8f21-6b9e0d47c5a2",
    messageId: "<a@b.test>",
    date: new Date(0),
    from: address,
    to: [address],
    subject: "S",
    text: "T",
    headers: unsubscribeFields(url),
  }).toString("latin1");
  assert.ok(
    message.includes(`\r\nList-Unsubscribe: <${url}>\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n`),
  );
  await assert.rejects(open(`https://example.com/${"p".repeat(300)}`).make(longest), /too long/);
});
