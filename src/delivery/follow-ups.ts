/** Makes the complaint or the reply of a simulated recipient happen, a second after its delivery. */
import { makeMessageId } from "../mail/message-id.ts";
import type { Log } from "../ops/log.ts";
import { complainedPayload, repliedPayload } from "../rules/inbound-events.ts";
import type { Clock } from "../store/clock.ts";
import { isDatabaseAway, type Sql } from "../store/db.ts";
import { appendEvent, type NewEvent } from "../store/events.ts";
import { areFollowUpsDue, type FollowUp, takeFollowUps } from "../store/follow-ups.ts";
import { makeUuid, toWireId } from "../store/ids.ts";
import type { Wake } from "../store/wake.ts";

const everyMs = 500;

export function createFollowUps(deps: { sql: Sql; log: Log; clock: Clock; wake: Wake }) {
  let timer: NodeJS.Timeout | undefined;
  let work: Promise<void> = Promise.resolve();

  async function round(): Promise<void> {
    try {
      // Nearly always there is none: asked for by itself, without a transaction around it.
      if (!(await areFollowUpsDue(deps.sql))) return;
      const done = await deps.sql.begin(async (tx) => {
        const due = await takeFollowUps(tx, 100);
        for (const followUp of due) await appendEvent(tx, eventOf(followUp, deps.clock.nowMs()));
        return due.length;
      });
      if (done > 0) deps.wake.tell("events");
    } catch (error) {
      if (!isDatabaseAway(error)) deps.log.error({ err: error }, "a simulated follow-up failed");
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
