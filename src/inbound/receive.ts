/** What becomes of an arriving message, step by step: look at its shape, read it, judge it, find its thread, commit. Called by the SMTP session after the final dot. */
import { createHash } from "node:crypto";
import type { Digest } from "../mail/message/digest.ts";
import { shapeProblem } from "../mail/message/limits.ts";
import { readMessageId } from "../mail/message-id.ts";
import type { Log } from "../ops/log.ts";
import { receivedPayload, repliedPayload, type Verdicts, verdictsOnWire } from "../rules/inbound-events.ts";
import type { IncomingMail, ServerPolicy } from "../smtp/server-session.ts";
import { isDatabaseAway, type Sql } from "../store/db.ts";
import { fromWireId, makeUuid, toWireId } from "../store/ids.ts";
import { createInboundStore, type NewInbound } from "../store/inbound.ts";
import { findParent, findReturned, type ParentEmail } from "../store/inbound-emails.ts";
import type { Addressee, createAddressees } from "./addressees.ts";
import type { Parser } from "./parser.ts";
import type { createReports } from "./reports.ts";
import type { Authenticator } from "./verdicts.ts";

export type ReceiveDeps = {
  sql: Sql;
  log: Log;
  nowMs(): number;
  judge: ReturnType<typeof createAddressees>;
  parser: Parser;
  verdicts: Authenticator;
  reports: ReturnType<typeof createReports>;
  onEvent(): void;
};

/** Where a message goes: one workspace's receiving domain, or the workspace of the email that it comes back to. */
type Place = { workspaceId: string; domainId: string; domain: string; addresses: string[]; parent?: ParentEmail };

const taken = "250 2.0.0 taken";
const later = "451 4.3.0 cannot be stored at this moment, try again later";

export function createReceive(deps: ReceiveDeps): ServerPolicy & { idle(): Promise<void> } {
  const { sql, log } = deps;
  const store = createInboundStore(sql, { onStored: deps.onEvent });

  async function receive(mail: IncomingMail): Promise<string> {
    const problem = shapeProblem(mail.message);
    if (problem) return problem;
    const addressees: Addressee[] = [];
    for (const address of mail.recipients) {
      const judged = await deps.judge(address);
      // It was ours at RCPT: the domain changed hands in between.
      if ("reply" in judged) return later;
      addressees.push(judged.addressee);
    }
    // Both take their time, and neither needs the other.
    const judging = addressees.some(({ kind }) => kind === "domain") ? deps.verdicts(mail) : undefined;
    const parsed = await deps.parser.digest(mail.message, mail.sender);
    if ("problem" in parsed) return parsed.problem === "late" ? later : "554 5.6.0 the message cannot be read";
    const { digest } = parsed;
    const { report } = digest;
    const feedback = addressees.some(({ kind }) => kind === "feedback");
    if (feedback && report?.kind !== "complaint" && addressees.every(({ kind }) => kind === "feedback"))
      return "550 5.7.1 only feedback reports (RFC 5965) are taken here";
    if (feedback && report?.kind === "complaint") await deps.reports.complaint(report, { raw: mail.message });
    const places = placesOf(addressees);
    for (const addressee of addressees) {
      if (addressee.kind === "return") await comeBack(mail, digest, addressee, places);
    }
    if (places.length === 0) return taken;
    const verdicts = await (judging ?? deps.verdicts(mail));
    for (const place of places) await deliver(mail, digest, verdicts, place);
    return taken;
  }

  /** Mail to a return path: a report about its email, or an answer by a program (RFC 3834 §4 sends those here). */
  async function comeBack(
    mail: IncomingMail,
    { report }: Digest,
    { emailId, address }: Addressee & { kind: "return" },
    places: Place[],
  ): Promise<void> {
    const email = await findReturned(sql, emailId);
    if (!email)
      return void log.info({ emailId: toWireId("email", emailId) }, "mail came back to an email that is gone");
    if (report?.kind === "bounce") return await deps.reports.bounce(email, report);
    if (report?.kind === "complaint") return await deps.reports.complaint(report, { raw: mail.message, emailId });
    const { workspaceId, domainId, domain } = email;
    places.push({ workspaceId, domainId, domain, addresses: [address], parent: email });
  }

  async function deliver(mail: IncomingMail, digest: Digest, verdicts: Verdicts, place: Place): Promise<void> {
    const parent = place.parent ?? (await findParent(sql, place.workspaceId, candidatesOf(digest)));
    const item = inboundOf({ mail, digest, verdicts, place, parent, nowMs: deps.nowMs() });
    const stored = await store.store(item);
    log.info(
      { inboundId: toWireId("inbound", item.id), kind: item.kind, bytes: mail.message.length, again: !stored },
      stored ? "mail was received" : "the same mail came again",
    );
  }

  return {
    async recipient(address) {
      try {
        const judged = await deps.judge(address);
        return "reply" in judged ? judged : { address: judged.addressee.address };
      } catch (error) {
        complain(error);
        return { reply: later };
      }
    },
    async message(mail) {
      try {
        return await receive(mail);
      } catch (error) {
        complain(error);
        // RFC 3463 §3.4: what is full here may have room later.
        return (error as { code?: string }).code === "53100" ? "452 4.3.1 no room at this moment" : later;
      }
    },
    idle: store.idle,
  };

  function complain(error: unknown): void {
    if (isDatabaseAway(error)) log.warn({ reason: (error as Error).message }, "mail had to be deferred");
    else log.error({ err: error }, "mail could not be received");
  }
}

/** Receiving domains, each with those of its mailboxes that the message is for. */
function placesOf(addressees: readonly Addressee[]): Place[] {
  const places = new Map<string, Place>();
  for (const addressee of addressees) {
    if (addressee.kind !== "domain") continue;
    const { id, workspaceId, domain } = addressee.domain;
    const place = places.get(id) ?? { workspaceId, domainId: id, domain, addresses: [] };
    place.addresses.push(addressee.address);
    places.set(id, place);
  }
  return [...places.values()];
}

/** Ids in the threading headers that have the form of ours. */
function candidatesOf({ answers }: Digest): { id: string; messageId: string }[] {
  return answers.flatMap((messageId) => {
    const ours = readMessageId(messageId);
    const id = ours && fromWireId("email", ours.emailId);
    return id ? [{ id, messageId }] : [];
  });
}

type InboundInput = {
  mail: IncomingMail;
  digest: Digest;
  verdicts: Verdicts;
  place: Place;
  parent: ParentEmail | undefined;
  nowMs: number;
};

function inboundOf({ mail, digest, verdicts, place, parent, nowMs }: InboundInput): NewInbound {
  const id = makeUuid(nowMs);
  const contentHash = createHash("sha256").update(mail.message).digest("hex");
  // Automatic answers are no replies: whoever acts on replies must not act on these (RFC 3834 §2).
  const kind = parent && !digest.automatic ? "reply" : "received";
  const { from, subject, body, newText, html, messageId, inReplyTo, attachments } = digest;
  const common = {
    ...{ from, to: place.addresses, subject, body, html, messageId, attachments, verdicts },
    inReplyTo: inReplyTo || (parent?.messageId ?? ""),
    inboundId: toWireId("inbound", id),
  };
  const parentEmailId = parent && toWireId("email", parent.id);
  const payload =
    kind === "reply"
      ? repliedPayload({ ...common, newText, parentEmailId: parentEmailId! })
      : receivedPayload({ ...common, autoSubmitted: digest.automatic, ...(parentEmailId && { parentEmailId }) });
  return {
    id,
    workspaceId: place.workspaceId,
    domainId: place.domainId,
    domain: place.domain,
    recipients: place.addresses.map((address) => ({
      address,
      fingerprint: createHash("sha256")
        .update(JSON.stringify([messageId, address.toLowerCase(), contentHash]))
        .digest("hex"),
    })),
    sender: mail.sender.replaceAll("\0", ""),
    from,
    subject,
    messageId: messageId || undefined,
    inReplyTo: common.inReplyTo || undefined,
    kind,
    autoSubmitted: digest.automatic,
    contentHash,
    summary: { references: digest.references, attachments },
    verdicts: verdictsOnWire(verdicts),
    event: { id: makeUuid(nowMs), type: kind === "reply" ? "email.replied" : "email.received", payload },
    parent: parent && { id: parent.id, messageId: parent.messageId, metadata: parent.metadata },
    raw: mail.message,
  };
}
