import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { runCommand } from "../harness/program.ts";
import { accepted, getEmail, makeDue, untilFinished, untilTold, violationsOf } from "../harness/sending.ts";
import { until } from "../harness/wait.ts";
import { makeWorkspace } from "../harness/workspaces.ts";
import { startWorld, type World } from "../harness/world.ts";

let world: World;
before(async () => {
  world = await startWorld();
});
after(async () => await world?.stop());

type Destination = Record<string, unknown> & { destination: string; state: string; queued: number; inFlight: number };

async function destinations(search = ""): Promise<Destination[]> {
  const { status, body } = await world.call("QueueService/ListDestinations", { search });
  assert.equal(status, 200, JSON.stringify(body));
  return body.data as Destination[];
}
const queue = async (verb: string, destination: string) =>
  await world.call(`QueueService/${verb}Destination`, { destination });

test("a paused destination holds its mail and no other's, and lets it go when it is resumed", async () => {
  const paused = await queue("Pause", "there.test");
  assert.equal(paused.status, 200, JSON.stringify(paused.body));
  const held = await accepted(world, { to: ["held@there.test"], async: true });
  const free = await accepted(world, { to: ["free@other.test"], async: true });
  await untilFinished(world, free);
  const [shown, ...more] = await destinations();
  assert.deepEqual(more, []);
  assert.deepEqual(
    [shown!.destination, shown!.state, shown!.queued, shown!.inFlight],
    ["there.test", "DESTINATION_STATE_PAUSED", 1, 0],
  );
  assert.ok(Date.parse(shown!.oldestAt as string) > Date.now() - 60_000);
  assert.equal((await getEmail(world, held)).recipients[0]!.attempts, 0);
  assert.equal(world.sink.received("held@there.test").length, 0);
  assert.equal((await queue("Resume", "there.test")).status, 200);
  await untilFinished(world, held);
  assert.equal(world.sink.received("held@there.test").length, 1);
  assert.deepEqual(await destinations(), []);
});

test("pausing holds on every node and is the workspace's own: another workspace's mail goes", async () => {
  const second = await world.startNode();
  assert.equal((await queue("Pause", "THERE.test.")).status, 200);
  const key = await makeWorkspace(world.database.sql, "Theirs");
  const theirs = await second.call("QueueService/ListDestinations", {}, { key });
  assert.deepEqual(theirs.body.data, []);
  const held = await accepted(world, { to: ["two@there.test"], async: true });
  const free = await accepted(world, { to: ["two@other.test"], async: true });
  await untilFinished(world, free);
  assert.equal((await getEmail(world, held)).recipients[0]!.attempts, 0);
  assert.equal((await queue("Resume", "there.test")).status, 200);
  await untilFinished(world, held);
});

test("expiry goes on while a destination is paused", async () => {
  await queue("Pause", "there.test");
  const id = await accepted(world, { to: ["late@there.test"], async: true });
  await world.database.sql`update emails set expires_at = now() - interval '1 second' where open > 0`;
  const told = await untilTold(world, id, "email.bounced");
  assert.deepEqual(
    told.map(({ payload }) => [payload.category, payload.bounceType, payload.attempts]),
    [["expired", "BOUNCE_TYPE_TRANSIENT", 0]],
  );
  assert.equal((await getEmail(world, id)).status, "EMAIL_STATUS_FAILED");
  await queue("Resume", "there.test");
});

test("retry makes what was deferred due now, and leaves a schedule alone", async () => {
  world.sink.script = ({ verb }) => (verb === "rcpt" ? "451 4.2.0 Mailbox busy, try later" : undefined);
  const id = await accepted(world, { to: ["busy@there.test"], async: true });
  await untilTold(world, id, "email.delayed");
  await queue("Pause", "there.test");
  await until("the attempt under way to end", async () => (await destinations("there"))[0]!.inFlight === 0);
  await world.database.sql`update recipients set due_at = now() + interval '1 hour' where status = 'delayed'`;
  const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
  const later = await accepted(world, { to: ["later@there.test"], scheduledAt });
  await queue("Resume", "there.test");
  const [shown] = await destinations("there");
  assert.equal(shown!.lastReply, "451 4.2.0 Mailbox busy, try later");
  world.sink.script = () => undefined;
  const { body } = await queue("Retry", "there.test");
  assert.equal(body.recipients, 1, JSON.stringify(body));
  await untilFinished(world, id);
  assert.equal((await getEmail(world, later)).recipients[0]!.attempts, 0);
  await makeDue(world);
  await untilFinished(world, later);
});

test("purge ends what waits as failed with a reason, one event each, and the numbers of the log have no gap", async () => {
  await queue("Pause", "there.test");
  const gone = await accepted(world, { to: ["a@there.test", "b@there.test"], async: true });
  const half = await accepted(world, { to: ["c@there.test", "kept@other.test"], async: true });
  await untilTold(world, half, "email.delivered");
  const { status, body } = await queue("Purge", "there.test");
  assert.deepEqual([status, body.recipients], [200, 3], JSON.stringify(body));
  const email = await getEmail(world, gone);
  assert.equal(email.status, "EMAIL_STATUS_FAILED");
  assert.match(email.statusMessage, /^given up by PurgeDestination/);
  assert.equal((await getEmail(world, half)).status, "EMAIL_STATUS_SENT");
  const told = (await untilTold(world, gone, "email.failed")).map(({ type, payload }) => [
    ...[type, payload.category, payload.recipients],
  ]);
  assert.deepEqual(told, [
    ["email.failed", "purged", ["a@there.test"]],
    ["email.failed", "purged", ["b@there.test"]],
  ]);
  const cursors = (await world.events()).map(({ cursor }) => Number(cursor));
  assert.deepEqual(
    cursors,
    cursors.map((_, i) => cursors[0]! + i),
  );
  await queue("Resume", "there.test");
});

test("what makes no sense is said", async () => {
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
  const page = await world.call("QueueService/ListDestinations", { pageToken: "x", pageSize: -1 });
  assert.deepEqual(
    violationsOf(page.body).map(({ field }) => field),
    ["pageSize", "pageToken"],
  );
});

test("posthorn queue shows and steers it, with a program running or by its API", async () => {
  await queue("Pause", "there.test");
  const id = await accepted(world, { to: ["cli@there.test"], async: true });
  const { dataDir } = world.program;
  const run = (args: string[], env: Record<string, string> = {}) =>
    runCommand(["queue", ...args], { dataDir, databaseUrl: world.database.url, env });
  const shown = await run([]);
  assert.match(shown.stdout, /there\.test +\S* +paused +1 +0/, shown.stderr);
  const json = await run(["--json"], { POSTHORN_URL: world.program.url, POSTHORN_KEY: world.program.key });
  assert.equal(json.code, 0, json.stderr);
  assert.equal(JSON.parse(json.stdout).state, "DESTINATION_STATE_PAUSED", json.stderr);
  const resumed = await run(["--resume", "there.test"]);
  assert.match(resumed.stdout, /goes again/, resumed.stderr);
  await untilFinished(world, id);
  const wrong = await run(["--purge", "there.test"]);
  assert.deepEqual([wrong.code, /No mail/.test(wrong.stderr)], [1, true]);
  const both = await run(["--purge", "a.test", "--retry", "a.test"]);
  assert.equal(both.code, 2);
});

test("destinations come by their number of recipients, in pages", async () => {
  const sizes = { "three.test": 3, "one.test": 1, "two.test": 2 };
  for (const name of Object.keys(sizes)) await queue("Pause", name);
  for (const [name, size] of Object.entries(sizes))
    await accepted(world, { to: Array.from({ length: size }, (_, i) => `x${i}@${name}`), async: true });
  const seen: unknown[] = [];
  for (let pageToken = ""; ; ) {
    const { body } = await world.call("QueueService/ListDestinations", { pageSize: 1, pageToken });
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
