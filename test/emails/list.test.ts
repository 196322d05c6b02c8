/** ListEmails: every filter, and pages that stay complete while new mail is accepted. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { accepted, untilFinished } from "../harness/sending.ts";
import { addSendingDomain, startTestbed, type Testbed } from "../harness/testbed.ts";

type Listed = { id: string; subject: string; status: string };

describe("the list of emails", () => {
  let testbed: Testbed;
  const ids: Record<string, string> = {};
  /** When the third email was created, by the clock that dates all of them. */
  let thirdAt = "";
  before(async () => {
    testbed = await startTestbed();
    await addSendingDomain(testbed.database.sql, testbed.workspaceId, "second.test");
    const send = async (name: string, request: object) => {
      ids[name] = await accepted(testbed, { subject: name, ...request });
    };
    await send("first", { to: ["Ada@there.test"], metadata: { order: "1", kind: "receipt" } });
    await send("second", { to: ["bob@there.test"], cc: ["ada@there.test"], metadata: { order: "2" } });
    await untilFinished(testbed, ids.first!);
    await untilFinished(testbed, ids.second!);
    await send("third", { from: "x@second.test", to: ["bob@other.test"], subject: "100% off_er" });
    thirdAt = (await untilFinished(testbed, ids.third!)).createdAt;
    await send("later", { to: ["ada@there.test"], scheduledAt: new Date(Date.now() + 3_600_000).toISOString() });
    await send("gone", { to: ["ada@there.test"], scheduledAt: new Date(Date.now() + 3_600_000).toISOString() });
    await testbed.call("EmailService/CancelEmail", { id: ids.gone });
  });
  after(async () => await testbed?.stop());

  async function list(request: object): Promise<{ names: string[]; next: string }> {
    const { status, body } = await testbed.call("EmailService/ListEmails", request);
    assert.equal(status, 200, JSON.stringify(body));
    const names = (body.data as Listed[]).map(({ id }) => Object.keys(ids).find((name) => ids[name] === id) ?? id);
    return { names, next: body.nextPageToken as string };
  }

  const filters: [what: string, request: object, expected: string[]][] = [
    ["no filter", {}, ["gone", "later", "third", "second", "first"]],
    [
      "a recipient, regardless of case and of to or cc",
      { recipient: " ADA@There.test " },
      ["gone", "later", "second", "first"],
    ],
    ["a recipient of no email", { recipient: "nobody@there.test" }, []],
    ["a domain", { domain: "Second.test" }, ["third"]],
    ["a metadata key", { metadataKey: "order" }, ["second", "first"]],
    ["a metadata value", { metadataKey: "order", metadataValue: "2" }, ["second"]],
    ["the status QUEUED", { status: "EMAIL_STATUS_QUEUED" }, ["later"]],
    ["the status SENT", { status: "EMAIL_STATUS_SENT" }, ["third", "second", "first"]],
    ["the status FAILED", { status: "EMAIL_STATUS_FAILED" }, ["gone"]],
    ["words of the subject, in any order and case", { search: "OFF_ER 100%" }, ["third"]],
    ["a word that no subject has", { search: "offe 100%" }, []],
    ["a part of a recipient", { search: "BOB@" }, ["third", "second"]],
    [
      "several filters together",
      { recipient: "ada@there.test", status: "EMAIL_STATUS_SENT", metadataKey: "kind" },
      ["first"],
    ],
  ];
  for (const [what, request, expected] of filters)
    it(`returns the matching emails: ${what}`, async () => assert.deepEqual((await list(request)).names, expected));

  it("is filtered by time", async () => {
    assert.deepEqual((await list({ createdAfter: thirdAt })).names, ["gone", "later", "third"]);
    assert.deepEqual((await list({ createdBefore: thirdAt })).names, ["second", "first"]);
    // Times outside the range of the timestamps in ids.
    const [ever, never] = ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"];
    assert.equal((await list({ createdAfter: ever, createdBefore: never })).names.length, 5);
    assert.deepEqual((await list({ createdBefore: ever })).names, []);
  });

  it("is searched by id and by Message-ID", async () => {
    const { body } = await testbed.call("EmailService/GetEmail", { id: ids.second });
    const { messageId } = body.email as { messageId: string };
    assert.deepEqual((await list({ search: ids.second })).names, ["second"]);
    assert.deepEqual((await list({ search: messageId })).names, ["second"]);
  });

  it("is paged without repeating or skipping an email while new mail is accepted", async () => {
    const seen: string[] = [];
    for (let pageToken = "", n = 0; n < 10; n++) {
      const { names, next } = await list({ pageSize: 2, pageToken });
      seen.push(...names);
      ids[`new${n}`] = await accepted(testbed, { to: ["late@there.test"] });
      pageToken = next;
      if (next === "") break;
    }
    assert.deepEqual(seen, ["gone", "later", "third", "second", "first"]);
  });

  it("rejects a metadata value without its key, an invalid page token and a negative page size", async () => {
    for (const request of [{ metadataValue: "x" }, { pageToken: "nonsense" }, { pageSize: -1 }]) {
      const { body } = await testbed.call("EmailService/ListEmails", request);
      assert.equal(body.code, "invalid_argument", JSON.stringify(request));
    }
  });
});
