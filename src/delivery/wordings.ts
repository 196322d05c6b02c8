/** Counts replies whose wording no rule knows, so that the operator sees which receivers say something new. Attempts add to counts in memory,
 * and every five seconds one short transaction writes them. A crash loses the counts of that time. Wired by app/assemble/delivery.ts. */
import { siteOfHost } from "../dns/site.ts";
import type { Log } from "../ops/log.ts";
import { isDatabaseAway, type Sql } from "../postgres/pool.ts";
import type { Evidence } from "../smtp/client/evidence.ts";
import { wordingLimits } from "./rules/admission.ts";
import type { Outcome } from "./rules/outcome.ts";
import { foldReply } from "./rules/shape.ts";
import { type CountedWording, countWordings } from "./store/wordings.ts";

export type WordingsDeps = { sql: Sql; log: Log; makeId(): string; everyMs?: number };

/** Shapes in memory between two writes. */
const maxPending = wordingLimits.total;

export function createWordings({ sql, log, makeId, everyMs = 5_000 }: WordingsDeps) {
  let pending = new Map<string, CountedWording>();
  /** Shapes of each site in memory: a receiver that says something else each time has a limit before the table, too. */
  let perSite = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  async function write(): Promise<void> {
    if (pending.size === 0) return;
    const counted = [...pending.values()];
    pending = new Map();
    perSite = new Map();
    try {
      await countWordings(sql, counted, makeId);
    } catch (error) {
      // These are statistics: they are dropped instead of growing while the database is away.
      if (!isDatabaseAway(error)) log.warn({ err: error }, "counting unknown wordings failed");
    }
  }

  return {
    observe(
      evidence: Evidence,
      { site: name, recipient, outcome }: { site: string; recipient: string; outcome: Outcome },
    ): void {
      if (evidence.kind !== "refused" || !outcome.unknownWording) return;
      // A destination whose lookup fails is a site of its own, so one owner could have as many as it likes.
      const site = siteOfHost(name);
      const { phase, reply } = evidence;
      const shape = foldReply(reply.text, recipient);
      if (shape === "") return;
      const enhanced = reply.enhanced ?? "";
      const key = JSON.stringify([site, phase, reply.code, enhanced, shape]);
      const known = pending.get(key);
      if (known) {
        known.replies += 1;
        return;
      }
      const ofSite = perSite.get(site) ?? 0;
      if (ofSite >= wordingLimits.perSite || pending.size >= maxPending) return;
      perSite.set(site, ofSite + 1);
      const { category } = outcome;
      pending.set(key, { site, phase, code: reply.code, enhanced, shape, category, replies: 1 });
    },
    start() {
      timer = setInterval(() => {
        writing = writing.then(write);
      }, everyMs);
    },
    async stop(): Promise<void> {
      clearInterval(timer);
      writing = writing.then(write);
      await writing;
    },
  };
}
