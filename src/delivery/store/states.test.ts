/** Compares the state machines of recipients and emails with the SQL statements that change them: every state with every event, listed or
 * not. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../../test/harness/mail.ts";
import { listedOutcomes, outcomeOf } from "../../emails/rules/outcome.ts";
import { type EmailStatus, emailEvent, emailMachine } from "../../emails/rules/status.ts";
import { createEmailStore } from "../../emails/store/emails.ts";
import { outcomesOfEarlierEmails } from "../../emails/store/outcome-backfills.ts";
import { cancelEmail, getEmail } from "../../emails/store/reads.ts";
import { settleReturned } from "../../inbound/store/returns.ts";
import { step } from "../../ops/state-machine.ts";
import { makeUuid } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import { makeLease, registerWorker } from "../../postgres/workers.ts";
import { purgeSome } from "../../queue/store.ts";
import {
  acceptedStatuses,
  openStatuses,
  type RecipientEvent,
  type RecipientStatus,
  recipientMachine,
  recipientStatuses,
} from "../rules/recipient-status.ts";
import { settle } from "./settle.ts";

let database: TestDatabase;
let sql: Sql;
let workspaceId: string;
let workerId: number;
before(async () => {
  database = await createTestDatabase();
  sql = database.sql;
  workspaceId = await makeWorkspace(sql);
  workerId = await registerWorker(sql, { host: "test", pid: 1, roles: ["delivery"], version: "0" });
});
after(async () => await database.drop());

type Target = { emailId: string; lease: string };

const isOpen = (status: RecipientStatus) => (openStatuses as readonly string[]).includes(status);
const isAccepted = (status: RecipientStatus) => (acceptedStatuses as readonly string[]).includes(status);

/** The statements behind each event, applied to the recipient at position 0. */
const statements: Record<RecipientEvent | "purged", (target: Target) => Promise<unknown>> = {
  delivered: (target) => settleAs(target, "delivered"),
  sent: (target) => settleAs(target, "sent"),
  deferred: (target) => settleAs(target, "delayed"),
  bounced: (target) => settleAs(target, "bounced"),
  failed: (target) => settleAs(target, "failed"),
  suppressed: (target) => settleAs(target, "suppressed"),
  canceled: ({ emailId }) => cancelEmail(sql, { workspaceId, id: emailId, eventId: makeUuid(Date.now()) }),
  returned: ({ emailId }) =>
    settleReturned(sql, {
      workspaceId,
      emailId,
      position: 0,
      reply: "550",
      remoteMx: "",
      suppress: undefined,
      event: newEvent(),
    }),
  purged: ({ emailId }) =>
    purgeSome(sql, {
      workspaceId,
      destination: "one.test",
      upTo: emailId,
      reason: "purged",
      eventIds: [makeUuid(Date.now())],
    }),
};
/** A purge by an operator is the event `failed`. */
const eventOf = (statement: keyof typeof statements): RecipientEvent => (statement === "purged" ? "failed" : statement);
const leaseless = new Set(["canceled", "returned", "purged"]);

for (const from of recipientStatuses) {
  for (const statement of Object.keys(statements) as (keyof typeof statements)[]) {
    const to = step(recipientMachine, from, eventOf(statement));
    test(`a recipient that is ${from} and gets ${statement} is ${to}, whatever the status of the other recipient`, async () => {
      for (const sibling of [undefined, "queued", "delivered", "bounced"] as const) {
        // A final recipient keeps its status even if it has a lease. With an open sibling that lease would count as in flight.
        const leased = !leaseless.has(statement) && (isOpen(from) || sibling === undefined);
        const target = await emailWith(from, sibling, leased ? nextLease() : null);
        const emailBefore = await emailStatus(target.emailId);
        await statements[statement](target);
        assert.equal(await recipientStatus(target.emailId), to, `with a sibling that is ${sibling ?? "absent"}`);
        // Canceling applies to every queued recipient of the email.
        const siblingNow = statement === "canceled" && sibling === "queued" ? "canceled" : sibling;
        assert.equal(
          await emailStatus(target.emailId),
          step(emailMachine, emailBefore, emailEvent(countersOf(from, to, siblingNow))),
          `its email, with a sibling that is ${sibling ?? "absent"}`,
        );
        await checkOutcome(target.emailId);
      }
    });
  }
}

/** The counters of an email. A returned message does not change them. */
function countersOf(from: RecipientStatus, to: RecipientStatus, sibling: RecipientStatus | undefined) {
  const own = isAccepted(from) ? from : to;
  const all = sibling ? [own, sibling] : [own];
  return { total: all.length, open: all.filter(isOpen).length, accepted: all.filter(isAccepted).length, inFlight: 0 };
}

/** An email whose first recipient is in the given state, at the destination one.test. */
async function emailWith(
  status: RecipientStatus,
  sibling: RecipientStatus | undefined,
  lease: string | null,
): Promise<Target> {
  // A purge must not find the mail of earlier cases.
  await sql`update recipients set destination = 'done.test' where workspace_id = ${workspaceId}`;
  const addresses = sibling ? ["a@one.test", "b@two.test"] : ["a@one.test"];
  const email = newEmail(workspaceId, addresses);
  assert.deepEqual(await createEmailStore(sql).accept(email), { stored: true });
  for (const [position, state] of [status, sibling].entries()) {
    if (!state) continue;
    await sql`update recipients set status = ${state}, lease = ${position === 0 ? lease : null},
      settled_at = ${isOpen(state) ? null : new Date()}
      where workspace_id = ${workspaceId} and email_id = ${email.id} and position = ${position}`;
  }
  const { open, accepted } = countersOf(status, status, sibling);
  const emailState = open > 0 ? "queued" : accepted > 0 ? "sent" : "failed";
  await sql`update emails set open = ${open}, accepted = ${accepted}, status = ${emailState}, updated_at = now()
    where workspace_id = ${workspaceId} and id = ${email.id}`;
  await sql.begin((tx) => outcomesOfEarlierEmails.batch(tx, null, 10_000));
  return { emailId: email.id, lease: lease ?? nextLease() };
}

/** The counts are those of the recipients, and the email is listed under its outcome only. */
async function checkOutcome(emailId: string): Promise<void> {
  const { counts } = (await getEmail(sql, workspaceId, emailId))!;
  const statuses = (
    await sql`select status from recipients where workspace_id = ${workspaceId} and email_id = ${emailId}`
  ).map(({ status }) => status);
  for (const status of recipientStatuses)
    assert.equal(counts[status], statuses.filter((one) => one === status).length, `recipients that are ${status}`);
  const [row] =
    await sql`select counted_at = updated_at as counted from emails where workspace_id = ${workspaceId} and id = ${emailId}`;
  assert.deepEqual(row, { counted: true });
  const outcome = outcomeOf(counts);
  const listed =
    await sql`select outcome from email_outcomes where workspace_id = ${workspaceId} and email_id = ${emailId}`;
  assert.deepEqual([...listed], listedOutcomes.includes(outcome) ? [{ outcome }] : []);
}

let leases = 0;
function nextLease(): string {
  return makeLease(workerId, ++leases);
}

async function recipientStatus(emailId: string): Promise<string> {
  const [row] = await sql<{ status: string }[]>`
    select status from recipients where workspace_id = ${workspaceId} and email_id = ${emailId} and position = 0`;
  return row!.status;
}

async function emailStatus(emailId: string): Promise<EmailStatus> {
  return (await getEmail(sql, workspaceId, emailId))!.status;
}

async function settleAs({ emailId, lease }: Target, status: Parameters<typeof settle>[1][number]["status"]) {
  await settle(sql, [
    {
      workspaceId,
      emailId,
      position: 0,
      lease,
      status,
      attempts: 1,
      inDoubt: false,
      doubts: 0,
      reply: "250 ok",
      dueInMs: status === "delayed" ? 60_000 : undefined,
      remoteMx: undefined,
      suppress: undefined,
      event: { type: `email.${status}`, ...newEvent() },
    },
  ]);
}

function newEvent() {
  return { id: makeUuid(Date.now()), payload: { recipients: ["a@one.test"] } };
}
