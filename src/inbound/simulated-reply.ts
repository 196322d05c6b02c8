/** The reply of a simulated recipient, as if it had arrived: the dashboard and InboundService show it, and it can be answered. Called by
 * follow-ups.ts. */
import { hash } from "node:crypto";
import { parseAddress } from "../mail/address.ts";
import { compose } from "../mail/compose.ts";
import { boundReferences, makeMessageId, parseMessageId } from "../mail/message-id.ts";
import { toWireId } from "../postgres/ids.ts";
import { repliedPayload } from "./rules/events.ts";
import type { FollowUp } from "./store/follow-ups.ts";
import type { NewInbound } from "./store/inbound.ts";

const body = "This is a simulated reply.";

export function simulatedReply(
  followUp: FollowUp,
  { id, eventId, nowMs }: { id: string; eventId: string; nowMs: number },
): NewInbound {
  const { workspaceId, emailId, position, address, fromAddress, messageId: inReplyTo, metadata } = followUp;
  const subject = /^re:/i.test(followUp.subject) ? followUp.subject : `Re: ${followUp.subject}`.trimEnd();
  const messageId = makeMessageId(toWireId("email", eventId), address.split("@").at(-1)!);
  // RFC 5322 §3.6.4: the references of the email, then the email.
  const earlier = followUp.references.filter((reference) => parseMessageId(reference).ok);
  const references = boundReferences([...earlier, inReplyTo]);
  const common = { from: address, subject, messageId, inReplyTo };
  const raw = compose(
    {
      id: toWireId("email", eventId),
      messageId,
      inReplyTo,
      references,
      subject,
      date: new Date(nowMs),
      // The simulator ignores a label, so the local part may be UTF-8. Such a reply would arrive by SMTPUTF8.
      from: { ...stored(address), smtputf8: false },
      to: [stored(fromAddress)],
      text: body,
    },
    { smtputf8: true },
  );
  const payload = repliedPayload({
    ...common,
    to: [fromAddress],
    body,
    newText: body,
    parentEmailId: toWireId("email", emailId),
    inboundId: toWireId("inbound", id),
  });
  return {
    ...common,
    id,
    workspaceId,
    domainId: followUp.domainId,
    domain: followUp.domain,
    recipients: [{ address: fromAddress, fingerprint: hash("sha256", `simulated ${emailId} ${position}`) }],
    sender: address,
    kind: "reply",
    autoSubmitted: false,
    contentHash: hash("sha256", raw),
    summary: { references, attachments: [] },
    texts: { body, newText: body, html: "" },
    verdicts: {},
    event: { id: eventId, type: "email.replied", payload },
    parent: { id: emailId, messageId: inReplyTo, metadata },
    raw,
  };
}

/** An address that was checked when the email was accepted. */
function stored(text: string) {
  const read = parseAddress(text);
  return read.ok ? read.address : { name: "", local: "", domain: "", address: text, smtputf8: false };
}
