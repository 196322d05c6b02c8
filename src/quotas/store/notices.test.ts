import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace } from "../../../test/harness/mail.ts";
import { makeToken } from "../../ops/one-time-token.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { addFirstOwner, invite } from "../../workspaces/store.ts";
import {
  forgetOldOwnerMails,
  forgetOwnerMail,
  noteBelow,
  noteQuota,
  type QuotaNotice,
  readOwnerMails,
} from "./notices.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

let database: TestDatabase;
let workspaceId: string;
before(async () => {
  database = await createTestDatabase();
});
beforeEach(async () => {
  workspaceId = await makeWorkspace(database.sql);
  await database.sql`delete from owner_mails`;
});
after(async () => await database.drop());

/** Mail is read in the order of its ids, which is random within a millisecond. */
let nextIdMs = Date.now();

/** A notice of a quota with a window, unless `kind` is one without. */
function notice(percent: number, windowStartMs: number, kind: "emailsPerHour" | "keys" = "emailsPerHour"): QuotaNotice {
  return {
    eventId: makeUuid(nextIdMs++),
    workspaceId,
    type: "workspace.quota",
    payload: { percent },
    mail: { subject: `${percent} %`, body: "" },
    kind,
    percent,
    windowStartMs,
    hasWindow: kind === "emailsPerHour",
  };
}

/** The events, which must be as many as the mails. */
async function reported(): Promise<number> {
  const events = await database.sql`select 1 from events where workspace_id = ${workspaceId}`;
  const mails = await database.sql`select 1 from owner_mails where workspace_id = ${workspaceId}`;
  assert.equal(events.length, mails.length);
  return events.length;
}

describe("a threshold", () => {
  it("is reported once per window, by one of several nodes", async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => noteQuota(database.sql, notice(80, hourMs))));
    assert.deepEqual(answers.filter(Boolean).length, 1);
    assert.equal(await reported(), 1);
    assert.equal(await noteQuota(database.sql, notice(80, 2 * hourMs)), true, "the next window");
    assert.equal(await noteQuota(database.sql, notice(80, hourMs)), false, "service time fell back");
    assert.equal(await reported(), 2);
  });

  it("of 100 % includes that of 80 %, which is not reported after it", async () => {
    assert.equal(await noteQuota(database.sql, notice(100, hourMs)), true);
    assert.equal(await noteQuota(database.sql, notice(80, hourMs)), false);
    assert.equal(await reported(), 1);
  });

  it("of 80 % does not keep that of 100 % from being reported", async () => {
    assert.equal(await noteQuota(database.sql, notice(80, hourMs)), true);
    assert.equal(await noteQuota(database.sql, notice(100, hourMs)), true);
    assert.equal(await reported(), 2);
  });

  it("of a quota without a window is reported again only if it was below, and after a day", async () => {
    const at = (ms: number) => noteQuota(database.sql, notice(100, ms, "keys"));
    const below = { workspaceId, kind: "keys" as const, percent: 100 };
    assert.equal(await at(dayMs), true);
    assert.equal(await at(3 * dayMs), false, "never below");
    await noteBelow(database.sql, [below]);
    assert.equal(await at(dayMs + 23 * hourMs), false, "within a day");
    assert.equal(await at(3 * dayMs), true);
    assert.equal(await at(5 * dayMs), false, "not below since the last report");
  });

  it("is below for its own workspace, kind and percentage alone, and none is no error", async () => {
    const own = workspaceId;
    await noteQuota(database.sql, notice(100, dayMs, "keys"));
    await noteBelow(database.sql, []);
    const other = await makeWorkspace(database.sql);
    await noteBelow(database.sql, [
      { workspaceId: other, kind: "keys", percent: 100 },
      { workspaceId: own, kind: "webhooks", percent: 100 },
      { workspaceId: own, kind: "keys", percent: 80 },
    ]);
    const rows = await database.sql<{ percent: number; below: boolean }[]>`
      select percent, was_below as below from quota_notices where workspace_id = ${own} order by percent`;
    assert.deepEqual(
      rows.map(({ percent, below }) => [percent, below]),
      [
        [80, true],
        [100, false],
      ],
    );
  });

  it("of a workspace that does not exist is not reported", async () => {
    workspaceId = makeUuid(Date.now());
    assert.equal(await noteQuota(database.sql, notice(80, hourMs)), false);
    assert.equal(await reported(), 0);
  });
});

describe("mail to owners", () => {
  it("goes to owners who have joined, oldest first, and is forgotten when it is sent or a day old", async () => {
    const { sql } = database;
    for (const [email, role] of [
      ["zoe@there.test", "owner"],
      ["amy@there.test", "owner"],
      ["dev@there.test", "developer"],
    ] as const) {
      const personId = makeUuid(Date.now());
      await sql`insert into people (id, email, name) values (${personId}, ${email}, 'A')`;
      await addFirstOwner(sql, { workspaceId, id: makeUuid(Date.now()), personId, email });
      await sql`update members set role = ${role} where person_id = ${personId}`;
    }
    const email = "invited@there.test";
    const token = makeToken();
    await invite(sql, { workspaceId, id: makeUuid(Date.now()), email, role: "owner", token, forMs: hourMs });
    await noteQuota(sql, notice(80, hourMs));
    await noteQuota(sql, notice(100, hourMs));
    const mails = await readOwnerMails(sql);
    assert.deepEqual(
      mails.map(({ subject }) => subject),
      ["80 %", "100 %"],
    );
    assert.deepEqual(mails[0]!.owners, ["amy@there.test", "zoe@there.test"]);
    await forgetOwnerMail(sql, mails[0]!.id);
    await forgetOldOwnerMails(sql);
    assert.deepEqual(
      (await readOwnerMails(sql)).map(({ id }) => id),
      [mails[1]!.id],
    );
    await sql`update owner_mails set created_at = service_time() - interval '24 hours 1 second'`;
    await forgetOldOwnerMails(sql);
    assert.deepEqual(await readOwnerMails(sql), []);
  });
});
