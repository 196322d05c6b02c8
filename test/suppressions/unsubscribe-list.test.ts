/** The list of unsubscriptions by API and command line, and the buttons of the page without a browser. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { runCommand } from "../harness/program.ts";
import { accepted, untilEvent, untilFinished } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { entriesOf, post, press, publicUrl, request, sendWithLink } from "../harness/unsubscribe.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed({ env: { POSTHORN_PUBLIC_URL: publicUrl } });
});
after(async () => await testbed.stop());

const call = async (method: string, body: unknown) => await testbed.call(`SuppressionService/${method}`, body);

test("an address that is added gets no email with the topic, until it is removed", async () => {
  const { body } = await call("AddUnsubscribe", { address: "Ann <Ann@There.test>", topic: "news" });
  const { createdAt, ...entry } = body.unsubscribe as Record<string, string>;
  assert.deepEqual(entry, {
    address: "ann@there.test",
    topic: "news",
    method: "UNSUBSCRIBE_METHOD_API",
    emailId: "",
    sourceEventId: "",
  });
  const again = await call("AddUnsubscribe", { address: "ann@there.test", topic: "news" });
  assert.equal((again.body.unsubscribe as Record<string, string>).createdAt, createdAt);
  const id = await accepted(testbed, { to: ["ann@there.test"], unsubscribe: { topic: "news" } });
  const [suppressed] = await untilEvent(testbed, id, "email.suppressed");
  assert.deepEqual([suppressed!.payload.topic, suppressed!.payload.sourceEventId], ["news", ""]);
  assert.equal((await call("RemoveUnsubscribe", { address: "ann@there.test", topic: "news" })).status, 200);
  const missing = await call("RemoveUnsubscribe", { address: "ann@there.test", topic: "news" });
  assert.deepEqual(
    [missing.body.code, missing.body.message],
    ["not_found", "ann@there.test is not unsubscribed from news."],
  );
  await sendWithLink(testbed, "ann@there.test", "news");
  assert.deepEqual(
    (await testbed.events()).filter(({ event }) => event.type === "email.unsubscribed"),
    [],
    "the API writes no event",
  );
});

test("invalid requests are rejected by field", async () => {
  const codes = [
    await call("AddUnsubscribe", { address: "nobody", topic: "News" }),
    await call("AddUnsubscribe", { address: "a@there.test" }),
    await call("RemoveUnsubscribe", { address: "a@there.test", topic: "**" }),
    await call("ListUnsubscribes", { pageToken: "nonsense" }),
    await call("ListUnsubscribes", { topic: "No" }),
    await call("ListUnsubscribes", { pageSize: -1 }),
  ];
  for (const { body } of codes) assert.equal(body.code, "invalid_argument", JSON.stringify(body));
  const none = await call("ListSuppressions", { reason: "SUPPRESSION_REASON_UNSUBSCRIBED" });
  assert.deepEqual([none.status, none.body.data], [200, []]);
});

test("the list is paged, searched and filtered", async () => {
  for (let i = 0; i < 12; i++)
    await call("AddUnsubscribe", { address: `p${i}@there.test`, topic: i % 2 ? "odd" : "even" });
  const seen: string[] = [];
  for (let pageToken = ""; ; ) {
    const { body } = await call("ListUnsubscribes", { pageSize: 5, pageToken, search: "p" });
    seen.push(...(body.data as { address: string }[]).map(({ address }) => address));
    pageToken = body.nextPageToken as string;
    if (pageToken === "") break;
  }
  assert.deepEqual(
    seen,
    Array.from({ length: 12 }, (_, i) => `p${11 - i}@there.test`),
  );
  assert.equal((await entriesOf(testbed, { topic: "odd" })).length, 6);
  assert.equal((await entriesOf(testbed, { search: "P1" })).length, 3);
});

test("the page shows all topics of the recipient, and its buttons change them", async () => {
  const to = "page@there.test";
  await sendWithLink(testbed, to, "offers");
  const { id, path } = await sendWithLink(testbed, to, "news");
  await post(testbed, (await sendWithLink(testbed, to, "digest")).path);
  const page = await request(testbed, path);
  for (const text of ["Unsubscribe from news", "Unsubscribe from offers", "Subscribe to digest again"])
    assert.ok(page.text.includes(text), text);
  const left = await press(testbed, path, "unsubscribe", "offers");
  assert.match(left.text, /You are unsubscribed from offers\.[\s\S]*Subscribe to offers again/);
  const all = await press(testbed, path, "unsubscribe-all");
  assert.match(all.text, /You are unsubscribed from all topics\.[\s\S]*Subscribe again/);
  // Also a topic that did not exist then.
  const later = await accepted(testbed, { to: [to], unsubscribe: { topic: "brand-new" } });
  assert.equal((await untilFinished(testbed, later)).outcome, "EMAIL_OUTCOME_SUPPRESSED");
  await accepted(testbed, { to: [to], subject: "Receipt" });
  await press(testbed, path, "subscribe-all");
  const back = await press(testbed, path, "subscribe", "offers");
  assert.match(back.text, /You are subscribed to offers again/);
  await press(testbed, path, "subscribe", "offers");
  const changes = (await testbed.events()).flatMap(({ event }) => {
    const { topic, method, resubscribed } = (event.unsubscribed ?? {}) as Record<string, unknown>;
    return event.emailId === id && topic ? [[topic, method, resubscribed]] : [];
  });
  const how = "UNSUBSCRIBE_METHOD_PAGE";
  assert.deepEqual(changes, [
    ["offers", how, false],
    ["*", how, false],
    ["*", how, true],
    ["offers", how, true],
  ]);
  assert.deepEqual(
    (await entriesOf(testbed, { search: "page@" })).map(({ topic }) => topic),
    ["digest"],
  );
});

test("an address in another script is the same in every spelling that the suppression list knows", async () => {
  const { path } = await sendWithLink(testbed, "jürgen@there.test", "news");
  assert.equal((await post(testbed, path)).status, 200);
  const id = await accepted(testbed, { to: ["JÜRGEN@there.test"], unsubscribe: { topic: "news" } });
  assert.equal((await untilFinished(testbed, id)).outcome, "EMAIL_OUTCOME_SUPPRESSED");
});

test("the command line lists, adds and removes entries, and sends with a topic", async () => {
  const { dataDir } = testbed.program;
  const options = { dataDir, databaseUrl: testbed.database.url, env: testbed.nodeEnv };
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await runCommand(args, options);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  assert.equal(
    await run("unsubscribes", "add", "cli@there.test", "*"),
    "cli@there.test gets no email with the topic *.\n",
  );
  assert.match(await run("unsubscribes", "list", "--search", "cli@"), /^ADDRESS .*\ncli@there\.test +\* +api /);
  assert.match(await run("unsubscribes", "remove", "cli@there.test", "*"), /no longer unsubscribed from all topics/);
  const sent = [
    "send",
    "--from",
    "news@sender.test",
    "--subject",
    "S",
    "--body",
    "B",
    "--unsubscribe",
    "news",
    "--json",
  ];
  const { id } = JSON.parse(await run(...sent, "cli@there.test")) as { id: string };
  const email = await untilFinished(testbed, id);
  assert.equal(email.unsubscribeTopic, "news");
});
