/** Writes the event of a simulated complaint, or stores a simulated reply, one second after the delivery. Runs as a loop in the delivery
 * role. */
import { appendEvent, type NewEvent } from "../events/store.ts";
import type { Clock } from "../ops/clock.ts";
import type { Log } from "../ops/log.ts";
import { makeUuid } from "../postgres/ids.ts";
import { isDatabaseAway, type Sql } from "../postgres/pool.ts";
import type { Wake } from "../postgres/wake.ts";
import { complainedPayload } from "./rules/events.ts";
import { simulatedReply } from "./simulated-reply.ts";
import { areFollowUpsDue, countFollowUp, type FollowUp, takeFollowUps } from "./store/follow-ups.ts";
import { insertSimulated } from "./store/inbound.ts";

const everyMs = 500;

export function createFollowUps(deps: { sql: Sql; log: Log; clock: Clock; wake: Wake }) {
  let timer: NodeJS.Timeout | undefined;
  let work: Promise<void> = Promise.resolve();

  async function round(): Promise<void> {
    try {
      // Usually none is due, so this query runs without a transaction.
      if (!(await areFollowUpsDue(deps.sql))) return;
      const done = await deps.sql.begin(async (tx) => {
        const due = await takeFollowUps(tx, 100);
        for (const followUp of due.toSorted((a, b) => (a.emailId < b.emailId ? -1 : 1)))
          await countFollowUp(tx, followUp);
        const nowMs = deps.clock.nowMs();
        // Workspace by workspace, because each locks its event counter.
        for (const [, those] of Map.groupBy(due, ({ workspaceId }) => workspaceId)) {
          const replies = those.filter(({ kind }) => kind === "reply");
          if (replies.length > 0)
            await insertSimulated(
              tx,
              replies.map((reply) => simulatedReply(reply, { id: makeUuid(nowMs), eventId: makeUuid(nowMs), nowMs })),
            );
          for (const one of those) if (one.kind === "complaint") await appendEvent(tx, complaintOf(one, nowMs));
        }
        return due.length;
      });
      if (done > 0) deps.wake.notify("events");
    } catch (error) {
      if (!isDatabaseAway(error))
        deps.log.error({ err: error }, "cannot write simulated complaints and replies; the next round will retry");
    }
  }

  return {
    start() {
      timer = setInterval(() => {
        work = work.then(round);
      }, everyMs);
    },
    async stop() {
      clearInterval(timer);
      await work;
    },
  };
}

function complaintOf({ workspaceId, emailId, address, messageId, metadata }: FollowUp, nowMs: number): NewEvent {
  return {
    id: makeUuid(nowMs),
    workspaceId,
    type: "email.complained",
    email: { id: emailId, messageId, metadata },
    payload: complainedPayload({ recipients: [address], feedbackType: "abuse", userAgent: "Posthorn simulator" }),
  };
}
