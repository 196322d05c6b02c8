/** The fields of an answer to an inbound message, before the person edits them. Used by answer.tsx. */
import type { InboundMessage } from "../../../src/gen/v1/inbound_pb.ts";

export type Answered = Pick<InboundMessage, "from" | "to" | "subject">;

/** The answer comes from the address that the message was sent to. */
export function answerTo({ from, to, subject }: Answered): { from: string; to: string; subject: string } {
  return { from: to[0] ?? "", to: from, subject: /^re:/i.test(subject) ? subject : `Re: ${subject}`.trim() };
}
