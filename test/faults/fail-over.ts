/** Fail-overs between three replicated PostgreSQL servers under load: planned, after a kill of the primary, and while a network is split. */
import { fromWireId, toWireId } from "../../src/postgres/ids.ts";
import { type Node, type Replicas, startReplicas, withoutReplicas } from "../harness/replicas.ts";
import { type Reader, startReader } from "../harness/stream-readers.ts";
import type { Testbed } from "../harness/testbed.ts";
import { type FaultRun, type Findings, type Progress, underLoad } from "../harness/under-load.ts";
import { until } from "../harness/wait.ts";
import type { Fault } from "./fault.ts";

type Kind = "planned" | "kill" | "split";
const names: Record<Kind, string> = {
  planned: "the primary is stopped and a standby is promoted",
  kill: "the primary is killed and a standby is promoted",
  split: "the program and the old primary are cut off from the standbys",
};
const defaultTimes: Record<Kind, number> = { planned: 20, kill: 20, split: 5 };

export const failOvers: Fault[] = [true, false].flatMap((synchronous) =>
  (Object.keys(names) as Kind[]).map((kind) => ({
    name: `fail-over, ${synchronous ? "synchronous" : "asynchronous"}: ${names[kind]}`,
    promise: synchronous
      ? "no acknowledged email is lost, and nothing is acknowledged that no standby has; the program finds the new primary within 10 s"
      : "what the new primary lacks is told: every log is cut, and each reader gets the last shared cursor; within 10 s",
    times: defaultTimes[kind],
    cannot: () => withoutReplicas || undefined,
    inject: (times: number, progress: Progress) => failOver({ synchronous, kinds: [kind], times, progress, limitMs }),
  })),
);

/** The longest time from a promotion, or from the end of a split, until an email is accepted. */
export const limitMs = 10_000;
/** The emails that a split's old primary takes, if it need not wait for a standby. */
const emailsInSplit = 10;
/** Commits of a split's old primary whose wait for a standby is canceled. */
const canceledWaits = 10;

export type FailOverOptions = {
  synchronous: boolean;
  kinds: readonly Kind[];
  /** How often for each kind. */
  times: number;
  progress: Progress;
  /** Undefined: recovery may take as long as the machine needs. */
  limitMs?: number;
};

type Stage = FaultRun & { replicas: Replicas; synchronous: boolean; recoveries: number[]; broken: string[] };

export async function failOver({ synchronous, kinds, times, progress, limitMs }: FailOverOptions): Promise<Findings> {
  const replicas = await startReplicas({ synchronous });
  const recoveries: number[] = [];
  const broken: string[] = [];
  let lost = 0;
  let resets = 0;
  try {
    const findings = await underLoad(
      {
        testbed: { server: replicas.server },
        async forgive(testbed, ledger) {
          if (synchronous) return;
          const stored = await storedIds(testbed);
          for (const [key, { id }] of ledger)
            if (!stored.has(id)) {
              ledger.delete(key);
              lost++;
            }
        },
      },
      async (run) => {
        const stage = { ...run, replicas, synchronous, recoveries, broken };
        const { testbed } = run;
        const reader = startReader({ url: () => testbed.program.url, key: testbed.program.key }, { messages: 500 });
        run.cleanUp(() => reader.stop());
        const promotions = kinds.length * times;
        run.whenSettled(async () => {
          const found = await compareLog(testbed, reader);
          resets = reader.resets();
          return [...found, ...(await compareCuts(testbed, promotions))];
        });
        // The first standby that is promoted needs the workspace and its key.
        await replicas.caughtUp();
        for (const kind of kinds)
          for (let i = 1; i <= times; i++) {
            await inject[kind](stage);
            progress(`${kind} ${i} of ${times}: accepts mail after ${Math.round(recoveries.at(-1)!)} ms`);
          }
      },
    );
    const recoveryMs = Math.max(...recoveries);
    if (limitMs !== undefined && recoveryMs > limitMs) broken.push(`recovery took ${Math.round(recoveryMs)} ms`);
    const told = synchronous ? "" : `${lost} acknowledged emails were only on the old primary; `;
    return {
      ...findings,
      recoveryMs,
      broken: [...findings.broken, ...broken],
      note: `${told}a reader of the log was sent back to the last shared cursor ${resets} times`,
    };
  } finally {
    await replicas.stop();
  }
}

const inject: Record<Kind, (stage: Stage) => Promise<void>> = {
  async planned(stage) {
    await stage.injectFault(
      () => stage.replicas.switchOver(),
      () => measure(stage, stage.replicas.promotedAtMs()),
    );
  },
  async kill(stage) {
    let old: Node | undefined;
    await stage.injectFault(
      async () => {
        old = await stage.replicas.killPrimary();
      },
      async () => {
        await measure(stage, stage.replicas.promotedAtMs());
        await stage.replicas.rejoin(old!);
      },
    );
  },
  async split(stage) {
    const { replicas, load, synchronous, broken } = stage;
    let old: Node | undefined;
    await stage.injectFault(
      async () => {
        old = await replicas.split();
        const before = load.ledger.size;
        if (!synchronous) return await load.untilAcknowledged(emailsInSplit);
        // Commits wait for a standby. Canceling these waits makes PostgreSQL report success.
        const waiting = "from pg_stat_activity where wait_event = 'SyncRep' and application_name = 'posthorn'";
        for (let canceled = 0; canceled < canceledWaits; )
          canceled += await until("a commit without a standby", async () => {
            const rows = await old!.replica.query(`select pg_cancel_backend(pid) ${waiting}`);
            return rows.length;
          });
        if (load.ledger.size > before)
          broken.push(`${load.ledger.size - before} emails were acknowledged during a split`);
      },
      async () => {
        replicas.heal();
        await measure(stage, performance.now());
        await replicas.rejoin(old!);
      },
    );
  },
};

async function measure({ load, testbed, replicas, recoveries }: Stage, sinceMs: number): Promise<void> {
  await untilAccepted({ load, testbed }, (text, database) => replicas.primary().replica.query(text, database));
  recoveries.push(performance.now() - sinceMs);
  // The connections of the test itself: the next fault begins with a statement on them.
  const { sql } = testbed.database;
  const isBack = () =>
    sql`select 1`.then(
      () => true,
      () => false,
    );
  await until("the test's own connections at the new primary", isBack, { everyMs: 50 });
}

/** Waits until an email is accepted that the new primary has. `query` runs a statement there. */
export async function untilAccepted(
  { load, testbed }: Pick<FaultRun, "load" | "testbed">,
  query: (text: string, database: string) => Promise<unknown[]>,
): Promise<void> {
  const known = new Set(load.ledger.keys());
  const database = testbed.database.url.split("/").at(-1)!;
  await until(
    "an accepted email",
    async () => {
      const ids = [...load.ledger].filter(([key]) => !known.has(key)).map(([, { id }]) => fromWireId("email", id));
      if (ids.length === 0) return false;
      return (await query(`select 1 from emails where id in ('${ids.join("', '")}') limit 1`, database)).length > 0;
    },
    { everyMs: 10 },
  );
}

async function storedIds({ database, workspaceId }: Testbed): Promise<Set<string>> {
  const rows = await database.sql<{ id: string }[]>`select id from emails where workspace_id = ${workspaceId}`;
  return new Set(rows.map(({ id }) => toWireId("email", id)));
}

/** No gap is silent: the reader has exactly the events of the log, after it was sent back as often as needed. */
export async function compareLog(testbed: Testbed, reader: Reader): Promise<string[]> {
  const log = await testbed.events();
  await until("the reader at the end of the log", () => reader.seen.length >= log.length).catch(() => {});
  await reader.stop();
  const differs = log.findIndex(({ cursor, event }, i) => {
    const seen = reader.seen[i];
    return seen?.number !== cursor || seen.id !== event.id;
  });
  const same = differs < 0 && reader.seen.length === log.length;
  return [...reader.wrong, ...(same ? [] : [`a reader differs from the log at event ${differs + 1} of ${log.length}`])];
}

export async function compareCuts({ database, workspaceId }: Testbed, promotions: number): Promise<string[]> {
  const [row] = await database.sql<{ cuts: number }[]>`
    select coalesce(cardinality(cuts), 0)::int as cuts from event_counters where workspace_id = ${workspaceId}`;
  return row!.cuts >= promotions ? [] : [`the log has ${row!.cuts} cuts for ${promotions} promotions`];
}
