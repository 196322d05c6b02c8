/** Writes the event of a simulated complaint or reply one second after the delivery. Runs as a loop in the delivery role. */

import { appendEvent, type NewEvent } from "../events/store.ts";
import { makeMessageId } from "../mail/message-id.ts";
import type { Clock } from "../ops/clock.ts";
import type { Log } from "../ops/log.ts";
import { makeUuid, toWireId } from "../postgres/ids.ts";
import { isDatabaseAway, type Sql } from "../postgres/pool.ts";
import type { Wake } from "../postgres/wake.ts";
import { complainedPayload, repliedPayload } from "./rules/events.ts";
import { areFollowUpsDue, countFollowUp, type FollowUp, takeFollowUps } from "./store/follow-ups.ts";

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
        for (const followUp of due) await appendEvent(tx, eventOf(followUp, deps.clock.nowMs()));
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

function eventOf(followUp: FollowUp, nowMs: number): NewEvent {
  const { workspaceId, emailId, kind, address, fromAddress, subject, messageId, metadata } = followUp;
  const id = makeUuid(nowMs);
  const email = { id: emailId, messageId, metadata };
  if (kind === "complaint") {
    return {
      id,
      workspaceId,
      type: "email.complained",
      email,
      payload: complainedPayload({ recipients: [address], feedbackType: "abuse", userAgent: "Posthorn simulator" }),
    };
  }
  const body = "This is a simulated reply.";
  const payload = repliedPayload({
    from: address,
    to: [fromAddress],
    subject: /^re:/i.test(subject) ? subject : `Re: ${subject}`,
    body,
    newText: body,
    messageId: makeMessageId(toWireId("email", id), address.split("@").at(-1)!),
    inReplyTo: messageId,
    parentEmailId: toWireId("email", emailId),
  });
  return { id, workspaceId, type: "email.replied", email, payload };
}
