/** QueueService and `posthorn queue`: list, pause, resume, retry and purge the mail for a destination. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { runCommand } from "../harness/program.ts";
import { accepted, getEmail, makeDue, untilEvent, untilFinished, violationsOf } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";
import { makeWorkspace } from "../harness/workspaces.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed();
});
after(async () => await testbed?.stop());

type Destination = Record<string, unknown> & { destination: string; state: string; queued: number; inFlight: number };

async function destinations(search = ""): Promise<Destination[]> {
  const { status, body } = await testbed.call("QueueService/ListDestinations", { search });
  assert.equal(status, 200, JSON.stringify(body));
  return body.data as Destination[];
}
const queue = async (verb: string, destination: string) =>
  await testbed.call(`QueueService/${verb}Destination`, { destination });

test("a paused destination keeps its mail queued, and resuming it delivers the mail", async () => {
  const response = await queue("Pause", "there.test");
  assert.equal(response.status, 200, JSON.stringify(response.body));
  const paused = await accepted(testbed, { to: ["paused@there.test"], async: true });
  const free = await accepted(testbed, { to: ["free@other.test"], async: true });
  await untilFinished(testbed, free);
  const [shown, ...more] = await destinations();
  assert.deepEqual(more, []);
  assert.deepEqual(
    [shown!.destination, shown!.state, shown!.queued, shown!.inFlight],
    ["there.test", "DESTINATION_STATE_PAUSED", 1, 0],
  );
  assert.ok(Date.parse(shown!.oldestAt as string) > Date.now() - 60_000);
  assert.equal((await getEmail(testbed, paused)).recipients[0]!.attempts, 0);
  assert.equal(testbed.sink.received("paused@there.test").length, 0);
  assert.equal((await queue("Resume", "there.test")).status, 200);
  await untilFinished(testbed, paused);
  assert.equal(testbed.sink.received("paused@there.test").length, 1);
  assert.deepEqual(await destinations(), []);
});

test("a pause applies on every node, and only to the workspace that set it", async () => {
  const second = await testbed.startNode();
  assert.equal((await queue("Pause", "THERE.test.")).status, 200);
  const key = await makeWorkspace(testbed.database.sql, "Theirs");
  const theirs = await second.call("QueueService/ListDestinations", {}, { key });
  assert.deepEqual(theirs.body.data, []);
  const paused = await accepted(testbed, { to: ["two@there.test"], async: true });
  const free = await accepted(testbed, { to: ["two@other.test"], async: true });
  await untilFinished(testbed, free);
  assert.equal((await getEmail(testbed, paused)).recipients[0]!.attempts, 0);
  assert.equal((await queue("Resume", "there.test")).status, 200);
  await untilFinished(testbed, paused);
});

test("emails expire while their destination is paused", async () => {
  await queue("Pause", "there.test");
  const id = await accepted(testbed, { to: ["late@there.test"], async: true });
  await testbed.database
    .sql`update emails set default_expires_at = service_time() - interval '1 second' where open > 0`;
  const events = await untilEvent(testbed, id, "email.bounced");
  assert.deepEqual(
    events.map(({ payload }) => [payload.category, payload.bounceType, payload.attempts]),
    [["expired", "BOUNCE_TYPE_TRANSIENT", 0]],
  );
  assert.equal((await getEmail(testbed, id)).status, "EMAIL_STATUS_FAILED");
  await queue("Resume", "there.test");
});

test("retry makes deferred mail due now and does not change scheduled mail", async () => {
  testbed.sink.script = ({ verb }) => (verb === "rcpt" ? "451 4.2.0 Mailbox busy, try later" : undefined);
  const id = await accepted(testbed, { to: ["busy@there.test"], async: true });
  await untilEvent(testbed, id, "email.delayed");
  await queue("Pause", "there.test");
  await until("the current attempt to end", async () => (await destinations("there"))[0]!.inFlight === 0);
  await testbed.database
    .sql`update recipients set due_at = service_time() + interval '1 hour' where status = 'delayed'`;
  const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
  const later = await accepted(testbed, { to: ["later@there.test"], scheduledAt });
  await queue("Resume", "there.test");
  const [shown] = await destinations("there");
  assert.equal(shown!.lastReply, "451 4.2.0 Mailbox busy, try later");
  testbed.sink.script = () => undefined;
  const { body } = await queue("Retry", "there.test");
  assert.equal(body.recipients, 1, JSON.stringify(body));
  await untilFinished(testbed, id);
  assert.equal((await getEmail(testbed, later)).recipients[0]!.attempts, 0);
  await makeDue(testbed);
  await untilFinished(testbed, later);
});

test("purge fails queued recipients with a reason and one event each, without gaps in the log", async () => {
  await queue("Pause", "there.test");
  const gone = await accepted(testbed, { to: ["a@there.test", "b@there.test"], async: true });
  const half = await accepted(testbed, { to: ["c@there.test", "kept@other.test"], async: true });
  await untilEvent(testbed, half, "email.delivered");
  const { status, body } = await queue("Purge", "there.test");
  assert.deepEqual([status, body.recipients], [200, 3], JSON.stringify(body));
  const email = await getEmail(testbed, gone);
  assert.equal(email.status, "EMAIL_STATUS_FAILED");
  assert.match(email.statusMessage, /^purged by PurgeDestination/);
  assert.equal((await getEmail(testbed, half)).status, "EMAIL_STATUS_SENT");
  const failures = (await untilEvent(testbed, gone, "email.failed")).map(({ type, payload }) => [
    ...[type, payload.category, payload.recipients],
  ]);
  assert.deepEqual(failures, [
    ["email.failed", "purged", ["a@there.test"]],
    ["email.failed", "purged", ["b@there.test"]],
  ]);
  const cursors = (await testbed.events()).map(({ cursor }) => Number(cursor));
  assert.deepEqual(
    cursors,
    cursors.map((_, i) => cursors[0]! + i),
  );
  await queue("Resume", "there.test");
});

test("invalid destinations and impossible actions are rejected", async () => {
  for (const verb of ["Retry", "Purge"]) {
    const { status, body } = await queue(verb, "nothing.test");
    assert.deepEqual([status, body.code], [404, "not_found"]);
  }
  const resumed = await queue("Resume", "nothing.test");
  assert.deepEqual([resumed.status, resumed.body.code], [400, "failed_precondition"]);
  for (const destination of ["", "no domain", "[127.0.0.1]", "single"])
    for (const verb of ["Retry", "Pause", "Resume", "Purge"]) {
      const { body } = await queue(verb, destination);
      assert.equal(body.code, "invalid_argument", destination);
      assert.deepEqual(
        violationsOf(body).map(({ field }) => field),
        ["destination"],
      );
    }
  const page = await testbed.call("QueueService/ListDestinations", { pageToken: "x", pageSize: -1 });
  assert.deepEqual(
    violationsOf(page.body).map(({ field }) => field),
    ["pageSize", "pageToken"],
  );
});

test("posthorn queue lists and controls destinations, through the database or the API", async () => {
  await queue("Pause", "there.test");
  const id = await accepted(testbed, { to: ["cli@there.test"], async: true });
  const { dataDir } = testbed.program;
  const run = (args: string[], env: Record<string, string> = {}) =>
    runCommand(["queue", ...args], { dataDir, databaseUrl: testbed.database.url, env });
  const shown = await run([]);
  assert.match(shown.stdout, /there\.test +\S* +paused +1 +0/, shown.stderr);
  const json = await run(["--json"], { POSTHORN_URL: testbed.program.url, POSTHORN_KEY: testbed.program.key });
  assert.equal(json.code, 0, json.stderr);
  assert.equal(JSON.parse(json.stdout).state, "DESTINATION_STATE_PAUSED", json.stderr);
  const resumed = await run(["--resume", "there.test"]);
  assert.match(resumed.stdout, /has resumed/, resumed.stderr);
  await untilFinished(testbed, id);
  const wrong = await run(["--purge", "there.test"]);
  assert.deepEqual([wrong.code, /no queued mail/.test(wrong.stderr)], [1, true]);
  const both = await run(["--purge", "a.test", "--retry", "a.test"]);
  assert.equal(both.code, 2);
});

test("destinations are sorted by their number of recipients and paged", async () => {
  const sizes = { "three.test": 3, "one.test": 1, "two.test": 2 };
  for (const name of Object.keys(sizes)) await queue("Pause", name);
  for (const [name, size] of Object.entries(sizes))
    await accepted(testbed, { to: Array.from({ length: size }, (_, i) => `x${i}@${name}`), async: true });
  const seen: unknown[] = [];
  for (let pageToken = ""; ; ) {
    const { body } = await testbed.call("QueueService/ListDestinations", { pageSize: 1, pageToken });
    for (const { destination, queued } of body.data as Destination[]) seen.push([destination, queued]);
    pageToken = body.nextPageToken as string;
    if (pageToken === "") break;
  }
  assert.deepEqual(seen, [
    ["three.test", 3],
    ["two.test", 2],
    ["one.test", 1],
  ]);
  for (const name of Object.keys(sizes)) await queue("Purge", name);
  for (const name of Object.keys(sizes)) await queue("Resume", name);
});
