/** The fields of an answer to an inbound message, before the person edits them. Used by answer.tsx. */
import type { InboundMessage } from "../../../src/gen/v1/inbound_pb.ts";

export type Answered = Pick<InboundMessage, "from" | "replyTo" | "to" | "subject" | "domain">;

/** The answer comes from the address that the message was sent to. `senders`: all such addresses; none for a message to a return path, which
 * is no address to send from. */
export function answerTo({ from, replyTo, to, subject, domain }: Answered) {
  const senders = to.filter((address) => address.toLowerCase().endsWith(`@${domain.toLowerCase()}`));
  return {
    senders,
    from: senders[0] ?? "",
    to: replyTo || from,
    subject: /^re:/i.test(subject) ? subject : `Re: ${subject}`.trim(),
  };
}
