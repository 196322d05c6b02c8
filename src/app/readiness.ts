/** Whether this node can serve, and what keeps it from that: asked by /readyz on both ports and before each scrape. */
import type { Sql } from "../store/db.ts";
import type { Role } from "./config.ts";
import type { Ports } from "./files.ts";

export type Phase = "starting" | "migrating" | "running" | "stopping";

/** What this node is, as the wiring knows it. */
export type NodeState = { phase: Phase; version: string; roles: readonly Role[]; ports: Ports; sql: Sql | undefined };

export type Details = {
  ready: boolean;
  version: string;
  roles: readonly Role[];
  ports: Ports;
  /** By name: `ok`, or what is wrong. */
  checks: Record<string, string>;
};

export type Readiness = {
  /** `ok`, or why PostgreSQL does not answer; resolves within the limit. */
  database(): Promise<string>;
  details(): Promise<Details>;
};

const withinMs = 2_000;

export function createReadiness(node: NodeState): Readiness {
  let asking: Promise<string> | undefined;

  /** All callers share one ping: a database that hangs must not collect statements. */
  function database(): Promise<string> {
    const { sql } = node;
    if (!sql) return Promise.resolve("not open yet");
    asking ??= sql
      .ping(withinMs)
      .then(
        () => "ok",
        (error: Error) => error.message,
      )
      .finally(() => {
        asking = undefined;
      });
    return orAfter(withinMs, asking, `no answer within ${withinMs / 1000} s`);
  }

  return {
    database,
    async details() {
      // A node that starts or stops serves nothing, whatever the database says.
      const checks = {
        program: node.phase === "running" ? "ok" : node.phase,
        database: await database(),
      };
      const { version, roles, ports } = node;
      return { ready: Object.values(checks).every((state) => state === "ok"), version, roles, ports, checks };
    },
  };
}

/** The promise's value, or `otherwise` when it takes longer. The promise must not reject. */
export async function orAfter<T>(ms: number, promise: Promise<T>, otherwise: T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<T>((resolve) => {
    timer = setTimeout(() => resolve(otherwise), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
