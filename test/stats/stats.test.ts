/** Statistics: deliveries are counted soon, by type and by site, for their own workspace only. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, untilFinished, violationsOf } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed();
});
after(async () => await testbed?.stop());

type Counts = Record<string, number>;
type Stats = {
  asOf: string;
  bucket: string;
  totals: Counts;
  buckets: { start: string; counts: Counts }[];
  sites: { site: string; counts: Counts }[];
  groups: { value: string; name: string; other: boolean; counts: Counts }[];
  limits: Record<string, number>;
  alerts: unknown[];
};

async function stats(request: Record<string, unknown> = {}): Promise<Stats> {
  const { status, body } = await testbed.call("StatsService/GetStats", request);
  assert.equal(status, 200, JSON.stringify(body));
  return body as Stats;
}

test("an empty workspace has zero counts for every hour of the last day", async () => {
  const { totals, buckets, sites, bucket } = await stats();
  assert.equal(bucket, "STATS_BUCKET_SIZE_HOUR");
  assert.ok(buckets.length === 25 && buckets.every(({ counts }) => counts.accepted === 0));
  assert.deepEqual([totals.emails, totals.deliveryP50Ms, sites], [0, undefined, []]);
});

test("outcomes are counted in the bucket of their time", async () => {
  testbed.sink.script = ({ verb, recipient }) =>
    verb === "rcpt" && recipient?.startsWith("gone") ? "550 5.1.1 no such user" : undefined;
  const startedAt = Date.now();
  await untilFinished(
    testbed,
    await accepted(testbed, { to: ["a@there.test", "gone@there.test"], cc: ["b@other.test"] }),
  );
  await untilFinished(testbed, await accepted(testbed, { to: ["c@there.test"] }));
  const { totals, buckets, sites } = await until("all outcomes to be counted", async () => {
    const now = await stats();
    return Date.parse(now.asOf) > startedAt && now.totals.delivered === 3 && now.totals.accepted === 4
      ? now
      : undefined;
  });
  assert.deepEqual([totals.emails, totals.bounced, totals.delayed, totals.failed], [2, 1, 0, 0]);
  assert.ok(totals.deliveryP50Ms! > 0 && totals.deliveryP95Ms! >= totals.deliveryP50Ms!);
  const sum = (name: string) => buckets.reduce((all, { counts }) => all + counts[name]!, 0);
  assert.deepEqual([sum("accepted"), sum("delivered"), sum("bounced")], [4, 3, 1]);
  assert.deepEqual(
    sites.map(({ site, counts }) => [site, counts.delivered, counts.bounced]),
    [
      ["there.test", 2, 1],
      ["other.test", 1, 0],
    ],
  );
});

test("other time ranges and buckets give the same counts, and invalid ranges are rejected", async () => {
  const day = 86_400_000;
  const month = await stats({ from: new Date(Date.now() - 30 * day).toISOString() });
  assert.deepEqual([month.bucket, month.buckets.length], ["STATS_BUCKET_SIZE_DAY", 31]);
  assert.equal(month.totals.delivered, 3);
  const past = await stats({ to: new Date(Date.now() - 2 * day).toISOString(), bucket: "STATS_BUCKET_SIZE_SIX_HOURS" });
  assert.deepEqual([past.totals.delivered, past.sites], [0, []]);
  const backwards = await testbed.call("StatsService/GetStats", { from: new Date(Date.now() + day).toISOString() });
  assert.deepEqual([backwards.status, violationsOf(backwards.body)[0]?.field], [400, "from"]);
  const endless = { from: "2020-01-01T00:00:00Z", bucket: "STATS_BUCKET_SIZE_HOUR" };
  assert.deepEqual(violationsOf((await testbed.call("StatsService/GetStats", endless)).body)[0]?.field, "bucket");
});

test("counts are grouped by domain, site, key and the chosen metadata keys, with rates", async () => {
  const settings = { metadataKeys: { keys: ["campaign"] }, complaintAlert: { rate: 0.001 } };
  const changed = await testbed.call("StatsService/UpdateStatsSettings", settings);
  assert.equal(changed.status, 200, JSON.stringify(changed.body));
  const expected = {
    metadataKeys: ["campaign"],
    bounceAlert: { disabled: false, rate: 0.05, minimumRecipients: 100 },
    complaintAlert: { disabled: false, rate: 0.001, minimumRecipients: 300 },
  };
  assert.deepEqual((await testbed.call("StatsService/GetStatsSettings", {})).body.settings, expected);
  // The first test has suppressed gone@there.test.
  const to = ["a@there.test", "gone-too@there.test"];
  await untilFinished(testbed, await accepted(testbed, { to, metadata: { campaign: "spring", order: "1" } }));
  const byMetadata = { groupBy: "STATS_DIMENSION_METADATA", metadataKey: "campaign" };
  const { groups, limits, alerts } = await until("the campaign to be counted", async () => {
    const now = await stats(byMetadata);
    const [first] = now.groups;
    return first?.counts.delivered === 1 && first.counts.bounced === 1 && first.counts.emails === 1 ? now : undefined;
  });
  assert.deepEqual(
    groups.map(({ value, other, counts }) => [
      value,
      other,
      counts.deliveredRate,
      counts.bounceRate,
      counts.complaintRate,
    ]),
    [["spring", false, 0.5, 0.5, 0]],
  );
  assert.deepEqual([limits.complaintLimit, limits.bounceLimit, alerts], [0.003, 0.05, []]);
  const names = async (groupBy: string) => (await stats({ groupBy })).groups.map(({ value, name }) => name || value);
  const [domain] = await names("STATS_DIMENSION_DOMAIN");
  assert.match(domain!, /\.test$/);
  assert.deepEqual(await names("STATS_DIMENSION_SITE"), ["there.test", "other.test"]);
  const [key] = (await stats({ groupBy: "STATS_DIMENSION_KEY" })).groups;
  assert.match(key!.value, /^key_/);
  assert.notEqual(key!.name, "");
});

test("invalid groups and settings are rejected with the field at fault", async () => {
  const refused = async (method: string, request: object) => {
    const { status, body } = await testbed.call(`StatsService/${method}`, request);
    assert.equal(status, 400, JSON.stringify(body));
    return violationsOf(body).map(({ field }) => field);
  };
  assert.deepEqual(await refused("GetStats", { groupBy: "STATS_DIMENSION_METADATA" }), ["metadataKey"]);
  assert.deepEqual(await refused("GetStats", { groupBy: "STATS_DIMENSION_KEY", metadataKey: "x" }), ["metadataKey"]);
  const keys = (...list: string[]) => ({ metadataKeys: { keys: list } });
  for (const wrong of [keys("a", "b", "c", "d"), keys(""), keys("a", "a"), keys("x".repeat(65)), keys("a\0")])
    assert.deepEqual(await refused("UpdateStatsSettings", wrong), ["metadataKeys.keys"]);
  const alerts = { bounceAlert: { rate: 2 }, complaintAlert: { minimumRecipients: -1 } };
  assert.deepEqual(await refused("UpdateStatsSettings", alerts), [
    "bounceAlert.rate",
    "complaintAlert.minimumRecipients",
  ]);
});
