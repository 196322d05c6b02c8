/** Every method that a key may call has a method in the client; queue, stats, workspaces and audit against the real program. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { readContract } from "../../scripts/generators/descriptors.ts";
import type { Posthorn, PosthornError } from "../src/index.ts";
import { type RunningClient, startClient } from "./client.ts";
import { rejection } from "./peer.ts";
import { sdk } from "./project.ts";

let running: RunningClient;
let posthorn: Posthorn;

before(async () => {
  running = await startClient();
  ({ posthorn } = running);
});
after(async () => await running?.stop());

test("the client has every method that a key may call, and no other", async () => {
  const contract = await readContract();
  const methods = contract.services.flatMap(({ methods }) => methods);
  const forKeys = methods.filter((method) => contract.policy(method).permissions.length > 0);
  const used = new Set<string>();
  for (const name of await readdir(join(sdk, "src"))) {
    if (!name.endsWith(".ts") || name === "retry.ts") continue;
    const text = await readFile(join(sdk, "src", name), "utf8");
    for (const [, method] of text.matchAll(/"(\w+Service\/\w+)"/g)) used.add(method!);
  }
  assert.deepEqual([...used].sort(), forKeys.map((method) => `${method.parent.name}/${method.name}`).sort());
});

test("a domain is checked against the demands of receivers", async () => {
  const answer = await posthorn.domains.checkDeliverability({ domain: "example.test" });
  assert.equal(answer.domain, "example.test");
  const dkim = answer.checks.find(({ id }) => id === "dkim");
  assert.equal(dkim?.result, "DELIVERABILITY_RESULT_PASS");
  assert.equal(answer.sample.isOwn, true);
  const unknown = await rejection(posthorn.domains.checkDeliverability({ domain: "unknown.test" }));
  assert.equal((unknown as PosthornError).code, "not_found");
});

test("the queue lists destinations, pauses, resumes, retries and purges them", async () => {
  const { queue } = posthorn;
  assert.match((await queue.pause("later.test")).message, /later\.test/);
  await posthorn.emails.send({ from: "a@example.test", to: "b@later.test", subject: "", body: "Hi", async: true });
  const listed = [];
  for await (const one of queue.list({ search: "later.test" })) listed.push(one);
  assert.deepEqual(
    listed.map(({ destination, state }) => [destination, state]),
    [["later.test", "DESTINATION_STATE_PAUSED"]],
  );
  assert.equal(typeof (await queue.retry("later.test")).recipients, "number");
  assert.equal((await queue.purge("later.test")).recipients, 1);
  assert.match((await queue.resume("later.test")).message, /later\.test/);
  const error = await rejection<PosthornError>(queue.retry(""));
  assert.deepEqual([error.code, error.violations[0]!.field], ["invalid_argument", "destination"]);
});

test("stats are read by time range and dimension, and their settings are changed one by one", async () => {
  const { stats } = posthorn;
  const to = new Date();
  const from = new Date(to.getTime() - 3_600_000);
  const found = await stats.get({ from, to, groupBy: "STATS_DIMENSION_DOMAIN" });
  assert.equal(found.bucket, "STATS_BUCKET_SIZE_HOUR");
  assert.ok(found.buckets.length >= 1 && Array.isArray(found.groups));
  const before = await stats.settings();
  const changed = await stats.updateSettings({ metadataKeys: ["campaign"] });
  assert.deepEqual(changed, { ...before, metadataKeys: ["campaign"] });
  assert.deepEqual((await stats.updateSettings({ bounceAlert: { disabled: true } })).metadataKeys, ["campaign"]);
  assert.deepEqual((await stats.updateSettings({ metadataKeys: [] })).metadataKeys, []);
  const error = await rejection<PosthornError>(stats.updateSettings({ metadataKeys: "campaign" as never }));
  assert.match(error.message, /^metadataKeys: must be an array, not a string$/);
});

test("a key reads its workspace, the members and the quotas", async () => {
  const { data } = await posthorn.workspaces.list();
  assert.equal(data.length, 1);
  assert.match(data[0]!.id, /^ws_/);
  for await (const member of posthorn.workspaces.members({ workspaceId: data[0]!.id })) assert.ok(member.email);
  const { quotas } = await posthorn.workspaces.quotas();
  assert.ok(quotas.length > 0);
});

test("the audit log is listed with filters over several pages, and exported as JSON lines", async () => {
  for (const name of ["one", "two", "three"]) await posthorn.keys.create({ name, permission: "send" });
  const actions: string[] = [];
  for await (const { action } of posthorn.audit.list({ action: "key.created", pageSize: 2 })) actions.push(action);
  assert.ok(actions.length >= 3 && actions.every((action) => action === "key.created"), String(actions));
  let text = "";
  for await (const part of posthorn.audit.export({ action: "key.created" })) text += part;
  const lines = text.trimEnd().split("\n");
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).action),
    actions,
  );
});

test("emails are counted and exported", async () => {
  const { id } = await posthorn.emails.send({ from: "a@example.test", to: "é@example.test", subject: "ü", body: "Hi" });
  const { total } = await posthorn.emails.count({ domain: "example.test" });
  assert.ok(total >= 1);
  for (const format of ["csv", "jsonLines"] as const) {
    let file = "";
    for await (const part of posthorn.emails.export({ domain: "example.test" }, { format })) file += part;
    assert.ok(file.includes(id) && file.includes("ü"), file);
    assert.equal(file.startsWith("{"), format === "jsonLines");
    assert.equal(file.trimEnd().split("\n").length, total + (format === "csv" ? 1 : 0));
  }
  const wrong = posthorn.emails.export({}, { format: "xml" as never });
  assert.equal((await rejection<PosthornError>(wrong.next())).code, "invalid_argument");
});

test("a domain's records are shared by link and published in the server's own DNS", async () => {
  const { domain } = await posthorn.domains.add("links.test");
  const { link, url } = await posthorn.domains.createLink(domain.id, { days: 2 });
  assert.match(url, /\/dns#/);
  assert.deepEqual((await posthorn.domains.links(domain.id)).data, [link]);
  await posthorn.domains.revokeLink(link.id);
  assert.deepEqual((await posthorn.domains.links(domain.id)).data, []);
  assert.equal((await posthorn.domains.publishToLocalDns(domain.id)).domain.status, "DOMAIN_STATUS_READY");
  assert.deepEqual((await posthorn.inbound.unattributedReports()).data, []);
});
