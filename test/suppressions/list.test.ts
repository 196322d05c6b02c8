/** The suppression list: add, remove, import, export, search. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, untilEvent } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed();
});
after(async () => await testbed.stop());

type Entry = { address: string; reason: string; note: string; sourceEventId: string; createdAt: string };

async function ok(method: string, request: unknown): Promise<Record<string, unknown>> {
  const { status, body } = await testbed.call(`SuppressionService/${method}`, request);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

test("a manually suppressed address gets no mail until it is removed from the list", async () => {
  const added = await ok("AddSuppression", { address: "Someone@There.TEST", note: "asked by phone" });
  const entry = added.suppression as Entry;
  assert.deepEqual(
    [entry.address, entry.reason, entry.note],
    ["someone@there.test", "SUPPRESSION_REASON_MANUAL", "asked by phone"],
  );
  const [suppressed] = await untilEvent(
    testbed,
    await accepted(testbed, { to: ["someone@there.test"] }),
    "email.suppressed",
  );
  assert.equal(suppressed!.payload.reason, "SUPPRESSION_REASON_MANUAL");
  const again = await ok("AddSuppression", { address: "someone@there.test", note: "another note" });
  assert.deepEqual(again.suppression, entry, "an existing entry is not changed");
  await ok("RemoveSuppression", { address: "SOMEONE@there.test" });
  await untilEvent(testbed, await accepted(testbed, { to: ["someone@there.test"] }), "email.delivered");
  const gone = await testbed.call("SuppressionService/RemoveSuppression", { address: "someone@there.test" });
  assert.equal(gone.body.code, "not_found");
});

test("an import adds valid CSV lines and reports invalid ones by line, and an export can be imported again", async () => {
  const csv = [
    "\ufeffNote,Address,other",
    '"said ""no"", twice",one@there.test,x',
    "plain,two@there.test",
    ",not an address,",
    "",
    '"over\ntwo lines",three@there.test',
    "again,ONE@there.test",
    `${"n".repeat(501)},four@there.test`,
  ].join("\r\n");
  const first = await ok("ImportSuppressions", { csv });
  assert.deepEqual([first.added, first.alreadyPresent, first.refused], [3, 1, 2]);
  assert.deepEqual(
    (first.problems as { line: number }[]).map(({ line }) => line),
    [4, 9],
  );
  const second = await ok("ImportSuppressions", { csv });
  assert.deepEqual([second.added, second.alreadyPresent, second.refused], [0, 4, 2]);
  const exported = (await ok("ExportSuppressions", {})).csv as string;
  const lines = exported.split("\r\n");
  assert.equal(lines[0], "address,reason,note,created_at");
  assert.match(lines[1]!, /^one@there\.test,import,"said ""no"", twice",\d{4}-/);
  for (const address of ["one", "two", "three"]) await ok("RemoveSuppression", { address: `${address}@there.test` });
  const back = await ok("ImportSuppressions", { csv: exported });
  assert.deepEqual([back.added, back.refused], [3, 0]);
  assert.equal(
    ((await ok("ExportSuppressions", {})).csv as string).replace(/,[^,]*$/gm, ""),
    exported.replace(/,[^,]*$/gm, ""),
  );
});

test("the list is searched, filtered and paged, newest first", async () => {
  const many = Array.from({ length: 250 }, (_, n) => `bulk${String(n).padStart(3, "0")}@there.test`);
  await ok("ImportSuppressions", { csv: `address\n${many.join("\n")}\n` });
  await ok("AddSuppression", { address: "newest@there.test" });
  const seen: string[] = [];
  for (let pageToken = ""; ; ) {
    const page = await ok("ListSuppressions", { pageSize: 100, pageToken });
    seen.push(...(page.data as Entry[]).map(({ address }) => address));
    pageToken = page.nextPageToken as string;
    if (pageToken === "") break;
  }
  assert.equal(seen[0], "newest@there.test");
  assert.equal(new Set(seen).size, seen.length);
  assert.deepEqual(
    many.filter((address) => !seen.includes(address)),
    [],
  );
  const found = await ok("ListSuppressions", { search: "LK24", reason: "SUPPRESSION_REASON_IMPORT" });
  assert.equal((found.data as Entry[]).length, 10);
  const none = await ok("ListSuppressions", { search: "bulk", reason: "SUPPRESSION_REASON_COMPLAINT" });
  assert.deepEqual(none.data, []);
});

test("invalid requests are rejected", async () => {
  const code = async (method: string, request: unknown) =>
    (await testbed.call(`SuppressionService/${method}`, request)).body.code;
  assert.equal(await code("AddSuppression", { address: "nobody" }), "invalid_argument");
  assert.equal(await code("AddSuppression", { address: "a@there.test", note: "x".repeat(501) }), "invalid_argument");
  assert.equal(await code("ImportSuppressions", { csv: "" }), "invalid_argument");
  assert.equal(await code("ImportSuppressions", { csv: "mail\na@there.test\n" }), "invalid_argument");
  assert.equal(await code("ListSuppressions", { pageToken: "nonsense" }), "invalid_argument");
  assert.equal(await code("ExportSuppressions", { pageToken: "!" }), "invalid_argument");
});
