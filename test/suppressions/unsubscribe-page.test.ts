/** The page behind an unsubscribe link: what it says is true, also in an old tab, and a list of any length does not block the program. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { entriesOf, post, press, publicUrl, request, sendWithLink } from "../harness/unsubscribe.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed({ env: { POSTHORN_PUBLIC_URL: publicUrl } });
});
after(async () => await testbed.stop());

const statusOf = ({ text }: { text: string }) => /role="status">([^<]*)</.exec(text)?.[1];

test("a topic that was left alone stays left when the recipient takes back all topics", async () => {
  const { path } = await sendWithLink(testbed, "ann@there.test", "news");
  assert.equal((await post(testbed, path)).status, 200);
  await press(testbed, path, "unsubscribe-all");
  const back = await press(testbed, path, "subscribe-all");
  assert.equal(statusOf(back), "You are subscribed again, except to topics that you left one by one.");
  assert.match(back.text, /Subscribe to news again/);
  await press(testbed, path, "subscribe", "news");
  await press(testbed, path, "unsubscribe-all");
  assert.equal(statusOf(await press(testbed, path, "subscribe-all")), "You are subscribed to all topics again.");
});

test("a button of an old tab does not say that mail comes again while all topics are left", async () => {
  const { path } = await sendWithLink(testbed, "bea@there.test", "news");
  await press(testbed, path, "unsubscribe", "news");
  await press(testbed, path, "unsubscribe-all");
  const old = await press(testbed, path, "subscribe", "news");
  assert.equal(statusOf(old), "You are still unsubscribed from all topics.");
  assert.equal(statusOf(await press(testbed, path, "unsubscribe", "news")), "You are unsubscribed from news.");
  const removed = await testbed.call("SuppressionService/RemoveUnsubscribe", {
    address: "bea@there.test",
    topic: "news",
  });
  assert.equal(
    removed.body.message,
    "bea@there.test is no longer unsubscribed from news. The entry for all topics (*) remains: remove it, too.",
  );
  const again = await testbed.call("SuppressionService/RemoveUnsubscribe", {
    address: "bea@there.test",
    topic: "news",
  });
  assert.equal(again.body.code, "not_found");
  assert.match(again.body.message as string, /has no entry for news, but one for all topics \(\*\): remove that one/);
});

test("thousands of topics are not all shown, but the one of the email is", async () => {
  const { path } = await sendWithLink(testbed, "cid@there.test", "zebra");
  const { sql } = testbed.database;
  await sql`insert into unsubscribes (workspace_id, address, topic, method, created_at)
    select ${testbed.workspaceId}, 'cid@there.test', 't' || n, 'api', service_time() from generate_series(1, 5000) n`;
  assert.equal((await post(testbed, path)).status, 200);
  const { text } = await request(testbed, path);
  assert.match(text, /Subscribe to zebra again/);
  assert.equal(text.match(/<li>/g)!.length, 200);
  await press(testbed, path, "unsubscribe-all");
  assert.match((await request(testbed, path)).text, /You have unsubscribed from all topics/);
  assert.equal((await entriesOf(testbed, { search: "cid@", topic: "*" })).length, 1);
});

test("recipients can leave while the workspace is suspended", async () => {
  const { path } = await sendWithLink(testbed, "dan@there.test", "news");
  const { sql } = testbed.database;
  await sql`update workspaces set suspended_at = service_time(), suspended_reason = 'test' where id = ${testbed.workspaceId}`;
  assert.equal((await request(testbed, path)).status, 200);
  assert.equal((await post(testbed, path)).status, 200);
  const rows = await sql`select 1 from unsubscribes where address = 'dan@there.test'`;
  assert.equal(rows.length, 1);
});
