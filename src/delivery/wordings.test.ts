import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { readReplyLines } from "../../test/harness/replies.ts";
import { silentLog } from "../ops/log.ts";
import { makeUuid } from "../postgres/ids.ts";
import type { Evidence } from "../smtp/client/evidence.ts";
import { classify } from "./rules/outcome.ts";
import { listWordings } from "./store/wordings.ts";
import { createWordings } from "./wordings.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

function observer() {
  const wordings = createWordings({ sql: database.sql, log: silentLog(), makeId: () => makeUuid(Date.now()) });
  const say = (site: string, reply: string, recipient = "ann@there.test") => {
    const evidence: Evidence = { kind: "refused", phase: "rcpt", reply: readReplyLines(reply) };
    wordings.observe(evidence, { site, recipient, outcome: classify(evidence, { relay: false }) });
  };
  return { ...wordings, say };
}

test("only replies that no rule knows are counted, by shape, and written at the end", async () => {
  const { say, stop } = observer();
  say("a.test", "550 5.1.1 ann@there.test unknown to this moon");
  say("a.test", "550 no such user");
  say("a.test", "550");
  say("a.test", "550 5.7.1 ann@there.test is off today (id 77)");
  say("a.test", "550 5.7.1 bob@there.test is off today (id 78)", "bob@there.test");
  await stop();
  const rows = await listWordings(database.sql, { limit: 10 });
  assert.deepEqual(
    rows.map(({ site, phase, code, enhanced, shape, category, replies }) =>
      [site, phase, code, enhanced, shape, category, replies].join(" | "),
    ),
    ["a.test | rcpt | 550 | 5.7.1 | <address> is off today (id <n>) | policy | 2"],
  );
});

test("a receiver with ever new words has ten shapes, and others are still counted", async () => {
  await database.sql`delete from unknown_wordings`;
  const { say, stop } = observer();
  const word = (at: number) => String.fromCharCode(97 + (at % 26), 97 + (Math.floor(at / 26) % 26), 97);
  for (let at = 0; at < 500; at++) say("flood.test", `550 ${word(at)} odd`);
  say("quiet.test", "550 strange");
  await stop();
  const rows = await listWordings(database.sql, { limit: 100 });
  assert.equal(rows.filter(({ site }) => site === "flood.test").length, 10);
  assert.equal(rows.filter(({ site }) => site === "quiet.test").length, 1);
});

test("subdomains of one registered domain are one receiver", async () => {
  await database.sql`delete from unknown_wordings`;
  const { say, stop } = observer();
  // A destination whose first lookup fails is its own site.
  for (let at = 0; at < 50; at++) say(`x${at}.flood.test`, `550 odd`);
  say("mail.protection.outlook.com", "550 odd");
  await stop();
  const rows = await listWordings(database.sql, { limit: 100 });
  assert.deepEqual(
    rows.map(({ site, replies }) => [site, replies]),
    [
      ["flood.test", 50],
      ["mail.protection.outlook.com", 1],
    ],
  );
});

test("text that PostgreSQL cannot store is counted, too", async () => {
  await database.sql`delete from unknown_wordings`;
  const { say, stop } = observer();
  say("a.test", "550 zero\u0000 width \ud800 odd");
  await stop();
  const [row] = await listWordings(database.sql, { limit: 1 });
  assert.match(row!.shape, /^zero width .*odd$/);
});
