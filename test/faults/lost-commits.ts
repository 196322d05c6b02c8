/** Faults of the connection to PostgreSQL around the commit of accepted mail. A client without idempotency keys compares every answer
 * with what is stored. */
import { setTimeout as delay } from "node:timers/promises";
import { type DatabaseProxy, type Fate, startDatabaseProxy } from "../harness/database-proxy.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { type Findings, type Progress, underLoad } from "../harness/under-load.ts";
import { until } from "../harness/wait.ts";
import type { Fault } from "./fault.ts";

const truth = "every answer is true: success is stored once, `nothing was stored` is not stored";

/** How a commit is lost. `statement`: the statement before it loses its answer. `reset`: all connections end at any moment. */
export type Loss = Exclude<Fate, "forward"> | "statement" | "reset";

export const lostCommits: Fault[] = [
  {
    name: "a lost commit: stored, but the connection drops before its answer",
    promise: `${truth}; here every call succeeds`,
    times: 30,
    inject: (times, progress) => loseCommits("lose answer", times, progress),
  },
  {
    name: "a lost commit: the connection drops before PostgreSQL gets it",
    promise: `${truth}; never \`unknown\``,
    times: 30,
    inject: (times, progress) => loseCommits("lose", times, progress),
  },
  {
    name: "a lost commit: the connection drops while PostgreSQL commits",
    promise: `${truth}; never \`unknown\``,
    times: 30,
    inject: (times, progress) => loseCommits("cut", times, progress),
  },
  {
    name: "a lost commit: the connection drops after the statement, before the commit",
    promise: `${truth}; never \`unknown\``,
    times: 30,
    inject: (times, progress) => loseCommits("statement", times, progress),
  },
  {
    name: "a lost commit: all connections are reset at any moment",
    promise: `${truth}; never \`unknown\``,
    times: 50,
    inject: (times, progress) => loseCommits("reset", times, progress),
  },
  {
    name: "a lost commit: PostgreSQL stays away until the caller's deadline",
    promise: `${truth}; \`unknown\` only here`,
    times: 10,
    inject: (times, progress) => loseCommits("go away", times, progress),
  },
];

type Heard = "stored" | "not stored" | "unknown";
type Told = { subject: string; to: string; id: string; heard: Heard; sentAtMs: number };

const senders = 4;
/** Where the database stays away, callers wait for the whole deadline. Elsewhere it must be long enough for a busy machine. */
const deadlineMs = { away: 3_000, else: 60_000 };

export async function loseCommits(loss: Loss, times: number, progress: Progress): Promise<Findings> {
  let proxy: DatabaseProxy;
  const start = () =>
    startTestbed({
      async reachDatabase(url) {
        proxy = await startDatabaseProxy(url);
        return proxy.url;
      },
    });
  const withinMs = loss === "go away" ? deadlineMs.away : deadlineMs.else;
  const told: Told[] = [];
  const wrong: string[] = [];
  const found = await underLoad({ start }, async ({ testbed, load, injectFault, whenSettled, cleanUp }) => {
    cleanUp(() => proxy.close());
    let stopping = false;
    const sending = Array.from({ length: senders }, async (_, sender) => {
      for (let n = 0; !stopping; n++) {
        told.push(await sendWithoutKey(testbed, { subject: `lost-${sender}-${n}`, withinMs, wrong }));
        await delay(40);
      }
    });
    whenSettled(async () => [...wrong, ...(await falseAnswers(testbed, told))]);
    for (let i = 1; i <= times; i++) {
      const unknownBefore = count(told, "unknown");
      const met = loss === "reset" ? await resetAll(proxy) : nextAccept(proxy, loss);
      await injectFault(
        () => until("a commit to be lost", met),
        async () => {
          if (loss !== "go away") return;
          await until("callers that hear `unknown`", () => count(told, "unknown") > unknownBefore);
          proxy.comeBack();
        },
        loss === "go away" ? "repair" : "fault",
      );
      progress(`${i} of ${times}`);
    }
    stopping = true;
    await Promise.all(sending);
    // The audit compares the stored emails with the ledger, so emails without a key that are stored belong to it.
    const stored = new Map((await storedEmails(testbed)).map((row) => [row.subject, row.id]));
    for (const { subject, to, sentAtMs } of told) {
      const id = stored.get(subject);
      if (id !== undefined) load.ledger.set(subject, { id, to: [to], sentAtMs });
    }
  });
  const unexpected =
    loss !== "go away" && count(told, "unknown") > 0 ? ["`unknown` although the database was there"] : [];
  const failed = loss === "lose answer" && count(told, "not stored") > 0 ? ["a stored email was not acknowledged"] : [];
  return {
    ...found,
    broken: [...found.broken, ...unexpected, ...failed],
    note: `${count(told, "stored")} calls heard stored, ${count(told, "not stored")} nothing was stored, ${count(told, "unknown")} unknown`,
  };
}

const count = (told: readonly Told[], heard: Heard) => told.filter((one) => one.heard === heard).length;

/** Ends every connection, whatever it does. The pause differs, so that each reset meets other statements. */
async function resetAll(proxy: DatabaseProxy): Promise<() => boolean> {
  await delay(Math.random() * 50);
  proxy.cut("reset");
  return () => true;
}

/** The next batch that contains mail of our client meets its fate. */
function nextAccept(proxy: DatabaseProxy, loss: Exclude<Loss, "reset">): () => boolean {
  const carriers = new WeakSet<object>();
  let met = false;
  proxy.fateOf((text, connection) => {
    // The address in the envelope.
    const isStatement = text.includes('"address":"lost-');
    if (isStatement) carriers.add(connection);
    const isCommit = carriers.has(connection) && text.includes("; commit\0");
    if (met || !(loss === "statement" ? isStatement : isCommit)) return "forward";
    met = true;
    return loss === "statement" ? "lose answer" : loss;
  });
  return () => met;
}

async function sendWithoutKey(
  testbed: Testbed,
  { subject, withinMs, wrong }: { subject: string; withinMs: number; wrong: string[] },
): Promise<Told> {
  const sentAtMs = performance.now();
  const to = `${subject}@there.test`;
  const request = { from: "news@sender.test", to: [to], subject, body: "Hello", async: true };
  const headers = { "connect-timeout-ms": String(withinMs) };
  const { status, body } = await testbed.call("EmailService/SendEmail", request, { headers });
  const at = { subject, to, sentAtMs };
  if (status === 200) return { ...at, id: body.id as string, heard: "stored" };
  const details = (body.details ?? []) as { debug?: { reason?: string } }[];
  const reason = details.find(({ debug }) => debug?.reason)?.debug?.reason ?? "";
  if (reason === "OUTCOME_UNKNOWN") return { ...at, id: "", heard: "unknown" };
  // A deadline that passes before the write also changes nothing.
  const nothing = body.code === "deadline_exceeded" || reason.startsWith("DATABASE_");
  if (!nothing) wrong.push(`${subject}: ${JSON.stringify(body)}`);
  return { ...at, id: "", heard: "not stored" };
}

async function storedEmails(testbed: Testbed): Promise<{ subject: string; id: string }[]> {
  return await testbed.database.sql<{ subject: string; id: string }[]>`
    select subject, 'em_' || id as id from emails where workspace_id = ${testbed.workspaceId} and subject like 'lost-%'`;
}

/** One sentence for each answer that does not match what is stored. */
async function falseAnswers(testbed: Testbed, told: readonly Told[]): Promise<string[]> {
  const stored = new Map<string, string[]>();
  for (const { subject, id } of await storedEmails(testbed)) stored.set(subject, [...(stored.get(subject) ?? []), id]);
  return told.flatMap(({ subject, id, heard }) => {
    const ids = stored.get(subject) ?? [];
    if (heard === "stored" && (ids.length !== 1 || ids[0] !== id))
      return [`${subject} was acknowledged and is stored ${ids.length} times`];
    if (heard === "not stored" && ids.length > 0) return [`${subject} is stored although the answer denied it`];
    if (ids.length > 1) return [`${subject} is stored ${ids.length} times`];
    return [];
  });
}
