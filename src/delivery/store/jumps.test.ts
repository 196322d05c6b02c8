/** The database's clock jumps while mail waits. Each test moves the clock of its own database, and beats as a running program does. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail, settlement } from "../../../test/harness/mail.ts";
import { beatAfter, passServiceTime, shiftWallTime } from "../../../test/harness/time.ts";
import { readContents } from "../../emails/store/content.ts";
import { createEmailStore, findAccepted, type NewEmail } from "../../emails/store/emails.ts";
import { getRecipients } from "../../emails/store/reads.ts";
import { rescheduleEmail } from "../../emails/store/reschedule.ts";
import { silentLog } from "../../ops/log.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { ensurePartitions } from "../../postgres/partitions.ts";
import { readClocks } from "../../postgres/service-clock.ts";
import { makeLease, registerWorker } from "../../postgres/workers.ts";
import { listDestinations, pauseDestination } from "../../queue/store.ts";
import { createJudge } from "../judge.ts";
import { createScheduled } from "../scheduled.ts";
import { findLanes, type Leased, leaseDue, leaseExpired, releaseLease } from "./lease.ts";
import { settle } from "./settle.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Before the first beat after a jump, service time is ahead by up to 15 seconds, and mail accepted then waits for as long. */
const mostDelay = "15 seconds";
const jumps = [3, -3, 30, -30, 400, 0];

let database: TestDatabase;
let workspaceId: string;
let node: Node;
beforeEach(async () => {
  database = await createTestDatabase();
  workspaceId = await makeWorkspace(database.sql);
  node = await startNode();
});
afterEach(async () => await database.drop());

type Node = { workerId: number; beat(): Promise<void>; jump(days: number): Promise<void> };

/** What a program does at each beat, without its timer. */
async function startNode(): Promise<Node> {
  const { sql } = database;
  const workerId = await registerWorker(sql, { host: "test", pid: 1, roles: ["delivery"], version: "0" });
  const beatOnce = async () => {
    const last = await beatAfter(sql, [workerId], 5000);
    const scheduled = createScheduled({ sql, log: silentLog() });
    scheduled.onBeat(last);
    await scheduled.idle();
  };
  return {
    workerId,
    beat: beatOnce,
    async jump(days) {
      await shiftWallTime(sql, `${Math.round(days * 24)} hours`);
      await beatOnce();
      await ensurePartitions(sql);
      await beatOnce();
    },
  };
}

let leases = 0;
async function lease(workerId = node.workerId): Promise<Leased[]> {
  const lanes = await findLanes(database.sql, 1000);
  const due = lanes.filter((lane) => lane.dueInMs <= 0).map((lane) => ({ ...lane, quota: 100 }));
  return await leaseDue(database.sql, makeLease(workerId, ++leases), due);
}

async function accept(extra: Partial<NewEmail> = {}): Promise<NewEmail> {
  const { wallMs } = await readClocks(database.sql);
  const email = newEmail(workspaceId, ["a@there.test"], { id: makeUuid(wallMs), ...extra });
  assert.deepEqual(await createEmailStore(database.sql).accept(email), { stored: true });
  return email;
}

/** A judge of a program whose clocks are those of the database. */
async function judgeNow() {
  const { wallMs, serviceMs } = await readClocks(database.sql);
  return createJudge({
    scheduleMs: [60_000],
    doubtScheduleMs: [60_000],
    nowMs: () => wallMs,
    serviceMs: () => serviceMs,
    makeEventId: () => makeUuid(wallMs),
  });
}

test("queued mail stays due and does not expire, whatever the clock shows", async () => {
  for (const days of jumps) {
    const email = await accept();
    await node.jump(days);
    await passServiceTime(database.sql, mostDelay);
    const [row, ...others] = await lease();
    assert.equal(row!.emailId, email.id, `${days} days`);
    assert.deepEqual(others, []);
    const judge = await judgeNow();
    assert.equal(judge.isExpired(row!), false);
    assert.equal(judge.fault(row!, false).status, "delayed", `${days} days: retried, not failed`);
    assert.deepEqual(await settle(database.sql, [settlement(row!, "delivered")]), [true]);
  }
});

test("a retry waits for its time of service, not longer and not shorter", async () => {
  for (const days of jumps) {
    const email = await accept();
    const [row] = await lease();
    assert.deepEqual(await settle(database.sql, [settlement(row!, "delayed", { dueInMs: hourMs })]), [true]);
    await node.jump(days);
    assert.deepEqual(await lease(), [], `${days} days: not due yet`);
    const [recipient] = await getRecipients(database.sql, workspaceId, email.id);
    const [shown] = await listDestinations(database.sql, {
      workspaceId,
      search: undefined,
      after: undefined,
      limit: 10,
    });
    const { wallMs } = await readClocks(database.sql);
    for (const at of [recipient!.dueAt, shown!.nextAttemptAt!])
      assert.ok(Math.abs(at.getTime() - wallMs - hourMs) < 5 * 60_000, `${days} days: shown as wall time, ${at}`);
    await passServiceTime(database.sql, "1 hour");
    await passServiceTime(database.sql, mostDelay);
    const [again] = await lease();
    assert.equal(again!.emailId, email.id, `${days} days: due after an hour of service`);
    assert.equal((await judgeNow()).isExpired(again!), false);
    assert.deepEqual(await settle(database.sql, [settlement(again!, "delivered")]), [true]);
  }
});

test("scheduled mail is due at the wall time that its caller named, however the clock gets there", async () => {
  for (const days of [3, -3, -30, 0]) {
    await node.jump(0);
    const scheduledAt = new Date(Date.now() + 5 * dayMs);
    const email = await accept({ scheduledAt });
    await node.jump(days);
    assert.deepEqual(await lease(), [], `${days} days: not due`);
    const [row] = await database.sql<{ hours: number; retry: number }[]>`
      select extract(epoch from r.due_at - service_time()) / 3600 as hours,
        extract(epoch from e.default_expires_at - r.due_at) / 3600 as retry
      from recipients r join emails e on e.id = r.email_id where r.email_id = ${email.id}`;
    assert.ok(Math.abs(Number(row!.hours) - (5 - days) * 24) < 0.1, `${days} days: due in ${row!.hours} h`);
    assert.ok(Math.abs(Number(row!.retry) - 48) < 0.1, `${days} days: retried for ${row!.retry} h`);
    await node.jump(6);
    await passServiceTime(database.sql, mostDelay);
    const [due] = await lease();
    assert.equal(due!.emailId, email.id, `${days} days: due once its wall time has come`);
    assert.equal(due!.early, false);
    assert.deepEqual(await settle(database.sql, [settlement(due!, "delivered")]), [true]);
  }
});

test("rescheduled mail is due at its new wall time, whether the clock jumps before or after the change", async () => {
  const { sql } = database;
  const reschedule = ({ id }: NewEmail, at: Date) =>
    sql.begin(async (tx) => await rescheduleEmail(tx, { workspaceId, id }, at));
  for (const days of [3, -3, -30, 0]) {
    await node.jump(0);
    const [before, afterwards, now] = await Promise.all(
      [1, 2, 3].map(() => accept({ scheduledAt: new Date(Date.now() + 20 * dayMs) })),
    );
    await reschedule(before!, new Date(Date.now() + 5 * dayMs));
    await node.jump(days);
    const { wallMs } = await readClocks(sql);
    await reschedule(afterwards!, new Date(wallMs + dayMs));
    assert.deepEqual(await lease(), [], `${days} days: none is due`);
    await reschedule(now!, new Date(wallMs - 60_000));
    const leaseOne = async (email: NewEmail) => {
      const [due, ...others] = await lease();
      assert.equal(due!.emailId, email.id, `${days} days`);
      assert.deepEqual(others, [], `${days} days`);
      const key = { workspaceId, emailId: email.id, day: due!.email.contentDay };
      assert.deepEqual((await readContents(sql, [key])).get(email.id), email.parts);
      assert.equal((await judgeNow()).isExpired({ ...due!, attempts: 1 }), false, `${days} days`);
      assert.deepEqual(await settle(sql, [settlement(due!, "delivered")]), [true]);
    };
    await leaseOne(now!);
    await node.jump(days + 1.5);
    await passServiceTime(sql, mostDelay);
    await leaseOne(afterwards!);
    await node.jump(6);
    await passServiceTime(sql, mostDelay);
    await leaseOne(before!);
  }
});

test("scheduled mail that is leased while the clock goes back is released until its time", async () => {
  const { sql } = database;
  const email = await accept({ scheduledAt: new Date(Date.now() + hourMs) });
  await shiftWallTime(sql, "2 hours");
  await node.beat();
  // The clock is back before the next beat.
  await shiftWallTime(sql, "0 hours");
  await passServiceTime(sql, mostDelay);
  const [row] = await lease();
  assert.equal(row!.early, true);
  await releaseLease(sql, [row!]);
  assert.deepEqual(await lease(), [], "no busy loop until the next beat");
  await node.beat();
  await passServiceTime(sql, "1 minute");
  assert.deepEqual(await lease(), [], "the beat has computed its due time again");
  await node.jump(1);
  assert.equal((await lease())[0]!.emailId, email.id);
});

test("the leases of a dead worker are free after 30 seconds of service time, and those of a live one never are", async () => {
  const { sql } = database;
  for (const days of jumps) {
    const email = await accept();
    const dead = await registerWorker(sql, { host: "dead", pid: 1, roles: ["delivery"], version: "0" });
    assert.equal((await lease(dead)).length, 1);
    await node.jump(days);
    assert.deepEqual(await lease(), [], `${days} days: not dead yet`);
    await passServiceTime(sql, "45 seconds");
    await node.beat();
    const [taken] = await lease();
    assert.equal(taken!.emailId, email.id, `${days} days: taken over`);
    const other = await startNode();
    await node.jump(days === 3 ? -3 : 3);
    await other.beat();
    assert.deepEqual(await lease(other.workerId), [], "the lease of a worker that beats is kept");
    assert.deepEqual(await settle(sql, [settlement(taken!, "delivered")]), [true]);
  }
});

test("mail that was never attempted is attempted even if it is past its default expiry; paused mail expires by service time", async () => {
  const { sql } = database;
  const email = await accept({ retryForMs: hourMs });
  await node.jump(400);
  const lane = { destination: "there.test", workspaceId };
  await pauseDestination(sql, lane);
  const expired = async () =>
    (await leaseExpired(sql, makeLease(node.workerId, ++leases), { ...lane, after: undefined, limit: 10 })).rows;
  assert.deepEqual(await expired(), [], "a jump of the clock expires nothing");
  await passServiceTime(sql, "2 hours");
  const [held] = await expired();
  assert.equal(held!.emailId, email.id);
  assert.equal((await judgeNow()).isExpired(held!), true);
  await releaseLease(sql, [held!]);
  await sql`delete from paused_destinations`;
  const [late] = await lease();
  assert.equal((await judgeNow()).isExpired(late!), false);
  assert.equal((await judgeNow()).isExpired({ ...late!, attempts: 1 }), true);
});

test("mail whose caller named expiresAt expires at that wall time", async () => {
  await accept({ expiresAt: new Date(Date.now() + dayMs) });
  const [row] = await lease();
  assert.equal((await judgeNow()).isExpired(row!), false);
  await node.jump(3);
  assert.equal((await judgeNow()).isExpired(row!), true);
});

test("an idempotency key is kept for its time of service", async () => {
  const { sql } = database;
  for (const [i, days] of jumps.entries()) {
    const idempotency = { key: `k${i}`, requestHash: "h", keptForMs: dayMs };
    const email = await accept({ idempotency });
    await node.jump(days);
    assert.equal((await findAccepted(sql, workspaceId, `k${i}`))?.emailId, email.id, `${days} days`);
    const again = newEmail(workspaceId, ["a@there.test"], { idempotency });
    const answer = await createEmailStore(sql).accept(again);
    assert.deepEqual(
      answer,
      { stored: false, emailId: email.id, messageId: email.messageId, requestHash: "h" },
      `${days} days`,
    );
    // More than a day: between beats, service time can be up to 15 seconds ahead.
    await passServiceTime(sql, "25 hours");
    assert.equal(await findAccepted(sql, workspaceId, `k${i}`), undefined);
  }
});

test("mail is accepted and settled before the first beat after a jump, with ids and times that have partitions", async () => {
  const { sql } = database;
  for (const days of jumps) {
    await shiftWallTime(sql, `${days} days`);
    const email = await accept({ scheduledAt: undefined });
    const [row] = await lease();
    assert.equal(row!.emailId, email.id);
    assert.deepEqual(await settle(sql, [settlement(row!, "delivered")]), [true]);
    await node.jump(days);
    const [times] = await sql<{ same: boolean }[]>`
      select date_trunc('milliseconds', created_at) = ${new Date(Number.parseInt(email.id.replaceAll("-", "").slice(0, 12), 16))} as same
      from emails where id = ${email.id}`;
    assert.equal(times!.same, true, "created_at is the time in the id");
  }
  assert.equal((await sql`select 1 from events where workspace_id = ${workspaceId}`).length, jumps.length);
});
