/** Whether this node can serve, and if not, why. Used by /readyz on both ports and before each scrape of the metrics. */
import type { ContentStore } from "../objects/content-store.ts";
import { storeOutages } from "../objects/store-error.ts";
import { withCode } from "../postgres/lost-connection.ts";
import { outageOf } from "../postgres/outage.ts";
import type { Sql } from "../postgres/pool.ts";
import type { Ports } from "./files.ts";
import type { NodeRole } from "./settings.ts";

export type NodePhase = "starting" | "migrating" | "running" | "stopping";

/** The state of this node, kept up to date by assemble.ts. */
export type NodeState = {
  phase: NodePhase;
  version: string;
  roles: readonly NodeRole[];
  ports: Ports;
  sql: Sql | undefined;
  /** On a node that delivers: what its recipients in hand do. */
  delivery?: () => InHand;
  /** Why this node cannot use the database's secret. */
  secretProblem?: () => string | undefined;
  /** Undefined: all content is in the database. */
  contents?: Pick<ContentStore, "problem" | "failures">;
};

/** The recipients in delivery, and the sites whose answers attempts wait for. */
export type InHand = {
  working: number;
  waiting: number;
  /** Those of both at sites that have not answered yet or have stopped answering. */
  hesitant: number;
  sites: { site: string; attempts: number; waitedSeconds: number; stalled: boolean }[];
};

export type Details = {
  ready: boolean;
  version: string;
  roles: readonly NodeRole[];
  ports: Ports;
  /** By the name of the check: `ok`, or what is wrong. */
  checks: Record<string, string>;
  delivery?: InHand;
  /** With several processes: each of them. */
  processes?: ProcessState[];
};

export type ProcessState = {
  /** Counted from 0. */
  process: number;
  pid: number | undefined;
  state: "starting" | "running" | "stopping" | "waiting to start";
  ready: boolean;
  /** How often it ended unexpectedly. */
  restarts: number;
};

export type Readiness = {
  /** `ok`, or what is wrong with PostgreSQL, such as `disk full`. Resolves within two seconds. */
  database(): Promise<string>;
  /** Whether PostgreSQL answers, even if it cannot store anything. */
  databaseAnswers(): Promise<boolean>;
  details(): Promise<Details>;
};

const withinMs = 2_000;

export function createReadiness(node: NodeState): Readiness {
  let pinging: Promise<string> | undefined;

  /** A database that answers may still be unable to store: failed statements and the write probe report that. */
  async function database(): Promise<string> {
    return node.sql?.health.problem()?.state ?? (await ping());
  }

  /** All callers share one ping, so that statements do not pile up at a database that hangs. */
  function ping(): Promise<string> {
    const { sql } = node;
    if (!sql) return Promise.resolve("not open yet");
    pinging ??= sql
      .ping(withinMs)
      .then(
        () => "ok",
        (error: Error) => outageOf(withCode(error))?.state ?? error.message,
      )
      .finally(() => {
        pinging = undefined;
      });
    return withTimeout(withinMs, pinging, `no answer within ${withinMs / 1000} s`);
  }

  return {
    database,
    databaseAnswers: async () => (await ping()) === "ok",
    async details() {
      // A node that is starting or stopping serves no calls, even if the database answers.
      const secret = node.secretProblem?.();
      const checks: Record<string, string> = {
        program: node.phase === "running" ? "ok" : node.phase,
        database: await database(),
        ...(secret !== undefined && { secret }),
      };
      // Small mail goes on without the object storage, so the node stays ready.
      const contents = node.contents?.problem();
      const { version, roles, ports } = node;
      const ready = Object.values(checks).every((state) => state === "ok");
      if (node.contents) checks["object storage"] = contents ? storeOutages[contents.kind].state : "ok";
      return { ready, version, roles, ports, checks, delivery: node.delivery?.() };
    },
  };
}

/** The promise's value, or `fallback` after the time limit. The promise must not reject. */
export async function withTimeout<T>(ms: number, promise: Promise<T>, fallback: T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<T>((resolve) => {
    timer = setTimeout(() => resolve(fallback), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
