import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, untilTold } from "../harness/sending.ts";
import { startWorld, type World } from "../harness/world.ts";

let world: World;
before(async () => {
  world = await startWorld();
});
after(async () => await world.stop());

type Entry = { address: string; reason: string; note: string; sourceEventId: string; createdAt: string };

async function ok(method: string, request: unknown): Promise<Record<string, unknown>> {
  const { status, body } = await world.call(`SuppressionService/${method}`, request);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

test("an address by hand is not written to until it is taken off again", async () => {
  const added = await ok("AddSuppression", { address: "Someone@There.TEST", note: "asked by phone" });
  const entry = added.suppression as Entry;
  assert.deepEqual(
    [entry.address, entry.reason, entry.note],
    ["someone@there.test", "SUPPRESSION_REASON_MANUAL", "asked by phone"],
  );
  const [suppressed] = await untilTold(
    world,
    await accepted(world, { to: ["someone@there.test"] }),
    "email.suppressed",
  );
  assert.equal(suppressed!.payload.reason, "SUPPRESSION_REASON_MANUAL");
  const again = await ok("AddSuppression", { address: "someone@there.test", note: "another note" });
  assert.deepEqual(again.suppression, entry, "what is there stays as it is");
  await ok("RemoveSuppression", { address: "SOMEONE@there.test" });
  await untilTold(world, await accepted(world, { to: ["someone@there.test"] }), "email.delivered");
  const gone = await world.call("SuppressionService/RemoveSuppression", { address: "someone@there.test" });
  assert.equal(gone.body.code, "not_found");
});

test("good lines of a CSV are added, bad ones are listed with their line, and what is exported can be imported", async () => {
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

test("mistakes are named", async () => {
  const code = async (method: string, request: unknown) =>
    (await world.call(`SuppressionService/${method}`, request)).body.code;
  assert.equal(await code("AddSuppression", { address: "nobody" }), "invalid_argument");
  assert.equal(await code("AddSuppression", { address: "a@there.test", note: "x".repeat(501) }), "invalid_argument");
  assert.equal(await code("ImportSuppressions", { csv: "" }), "invalid_argument");
  assert.equal(await code("ImportSuppressions", { csv: "mail\na@there.test\n" }), "invalid_argument");
  assert.equal(await code("ListSuppressions", { pageToken: "nonsense" }), "invalid_argument");
  assert.equal(await code("ExportSuppressions", { pageToken: "!" }), "invalid_argument");
});
