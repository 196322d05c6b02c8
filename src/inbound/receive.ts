/** Inbound receives mail for registered domains, and bounces and complaints about mail that we sent.
 * Parts: addressees.ts (recipients), reader.ts and threads.ts (content, and SPF, DKIM, DMARC in threads), reports.ts (bounces), store/, service.ts (API).
 * `createReceive` is the policy of the SMTP server, which calls it at RCPT and after the final dot. Continue with addressees.ts. */
import { createHash } from "node:crypto";
import type { Digest } from "../mail/message/digest.ts";
import { headerProblem } from "../mail/message/limits.ts";
import { readMessageId } from "../mail/message-id.ts";
import type { ContentStore } from "../objects/content-store.ts";
import { StoreError } from "../objects/store-error.ts";
import type { Log } from "../ops/log.ts";
import { Problem } from "../ops/problem.ts";
import { fromWireId, makeUuid, toWireId } from "../postgres/ids.ts";
import { isDatabaseAway, type Sql } from "../postgres/pool.ts";
import type { ReceiveReport } from "../reports/receive.ts";
import type { ReportedDomain } from "../reports/store/domains.ts";
import type { IncomingMail, ServerPolicy } from "../smtp/server/policy.ts";
import type { Addressee, createAddressees } from "./addressees.ts";
import type { Reader } from "./reader.ts";
import { type createReports, TooEarly } from "./reports.ts";
import { receivedPayload, repliedPayload, type Verdicts, verdictsOnWire } from "./rules/events.ts";
import { type Candidate, findParent, findReturned, findSystemParent, type ParentEmail } from "./store/emails.ts";
import { createInboundStore, type NewInbound } from "./store/inbound.ts";
import type { ArrivedDigest } from "./thread-messages.ts";

export type ReceiveDeps = {
  sql: Sql;
  /** Undefined: all content is in the database. */
  contents?: ContentStore;
  log: Log;
  nowMs(): number;
  findAddressee: ReturnType<typeof createAddressees>;
  reader: Reader;
  reports: ReturnType<typeof createReports>;
  onEvent(): void;
  /** Takes DMARC and TLS reports about registered domains. */
  receiveReport: ReceiveReport;
  /** Whether the workspace may get another message now. */
  mayReceive(workspaceId: string): Promise<boolean>;
};

/** Where a message is stored: under a receiving domain of a workspace, or under the email that it was returned to. */
type Target = {
  workspaceId: string;
  domainId: string;
  domain: string;
  addresses: string[];
  parent?: ParentEmail & { isSystemMail?: boolean };
};

const acceptedReply = "250 2.0.0 accepted";
/** RFC 3463 §3.3: 4.2.2 is "mailbox full". Bounces and complaints are always received. */
const fullReply = "452 4.2.2 the recipient has reached the quota of inbound mail, try again later";
/** objects/content-store.ts logs why. */
const storeAwayReply = "451 4.3.0 the object storage for large messages is not available, try again later";
const deferredReply = "451 4.3.0 the message cannot be stored now, try again later";

export function createReceive(deps: ReceiveDeps): ServerPolicy & { idle(): Promise<void> } {
  const { sql, log } = deps;
  const inboundStore = createInboundStore(sql, { contents: deps.contents, onStored: deps.onEvent });

  async function receive(mail: IncomingMail): Promise<string> {
    const problem = headerProblem(mail.message);
    if (problem) return problem;
    const addressees: Addressee[] = [];
    for (const address of mail.recipients) {
      const result = await deps.findAddressee(address);
      // The address was accepted at RCPT, so the domain has changed since.
      if ("reply" in result) return deferredReply;
      addressees.push(result.addressee);
    }
    const reported = addressees.flatMap((one) => (one.kind === "report" ? [one.domain] : []));
    if (reported.length > 0) {
      const reply = await receiveReport(mail, reported);
      // A report that is refused is still mail to its other recipients.
      if (reported.length === addressees.length || reply.startsWith("4")) return reply;
    }
    const read = await deps.reader.arrival(mail, { verify: addressees.some(({ kind }) => kind === "domain") });
    if ("reply" in read) return read.reply;
    const { digest } = read;
    const { report } = digest;
    const feedback = addressees.some(({ kind }) => kind === "feedback");
    if (feedback && report?.kind !== "complaint" && addressees.every(({ kind }) => kind === "feedback"))
      return "550 5.7.1 this address accepts only feedback reports (RFC 5965)";
    if (feedback && report?.kind === "complaint") await deps.reports.complaint(report);
    const targets = await Promise.all(targetsOf(addressees).map((target) => withParent(digest, target)));
    for (const { workspaceId, parent } of targets)
      if (parent?.isSystemMail && !(await deps.mayReceive(workspaceId))) return fullReply;
    let isFull = false;
    for (const addressee of addressees) {
      if (addressee.kind === "return" && (await handleReturn(digest, addressee, targets)) === "full") isFull = true;
    }
    if (targets.length === 0) return isFull ? fullReply : acceptedReply;
    const verdicts = await read.verdicts();
    for (const target of targets) await store(mail, digest, verdicts, target);
    return acceptedReply;
  }

  async function receiveReport(mail: IncomingMail, domains: ReportedDomain[]): Promise<string> {
    return await deps.receiveReport({
      domains,
      verify: () => deps.reader.verify(mail),
      read: () => deps.reader.report(mail),
    });
  }

  /** Mail to a return path: a bounce, a complaint, or an automatic answer (RFC 3834 §4), which becomes another target unless the workspace's
   * quota is used up. */
  async function handleReturn(
    { report }: Digest,
    { emailId, position, address }: Addressee & { kind: "return" },
    targets: Target[],
  ): Promise<"handled" | "full"> {
    const email = await findReturned(sql, emailId);
    if (!email) {
      const about = { emailId: toWireId("email", emailId) };
      log.info(about, "ignored mail to the return path of an email that is no longer stored");
    } else if (report?.kind === "bounce") await deps.reports.bounce(email, position, report);
    else if (report?.kind === "complaint") await deps.reports.complaint(report, { emailId, position });
    else {
      const { workspaceId, domainId, domain } = email;
      if (!(await deps.mayReceive(workspaceId))) return "full";
      targets.push({ workspaceId, domainId, domain, addresses: [address], parent: email });
    }
    return "handled";
  }

  /** A message that answers system mail moves to the workspace of that mail. */
  async function withParent(digest: Digest, target: Target): Promise<Target> {
    const candidates = candidatesOf(digest);
    const parent = await findParent(sql, target.workspaceId, candidates);
    if (parent) return { ...target, parent };
    const system = await findSystemParent(sql, target.domainId, candidates);
    if (!system) return target;
    const { workspaceId, ...email } = system;
    return { ...target, workspaceId, parent: { ...email, isSystemMail: true } };
  }

  async function store(mail: IncomingMail, digest: ArrivedDigest, verdicts: Verdicts, target: Target): Promise<void> {
    const item = inboundOf({ mail, digest, verdicts, target, nowMs: deps.nowMs() });
    const stored = await inboundStore.store(item);
    log.info(
      { inboundId: toWireId("inbound", item.id), kind: item.kind, bytes: mail.message.length, again: !stored },
      stored ? "received mail" : "ignored mail that was received before",
    );
  }

  return {
    async recipient(address) {
      try {
        const result = await deps.findAddressee(address);
        if ("reply" in result) return result;
        const { addressee } = result;
        if (addressee.kind === "domain" && !(await deps.mayReceive(addressee.domain.workspaceId)))
          return { reply: fullReply };
        return { address: addressee.address };
      } catch (error) {
        logFailure(error);
        return { reply: deferredReply };
      }
    },
    async message(mail) {
      try {
        return await receive(mail);
      } catch (error) {
        if (error instanceof TooEarly) return "451 4.3.0 the delivery is not finished yet, try again later";
        if (isStoreAway(error)) return storeAwayReply;
        logFailure(error);
        // RFC 3463 §3.4: 4.3.1 is "mail system full". 53100 is PostgreSQL's disk_full.
        const diskFull = (error as { code?: string }).code === "53100";
        return diskFull ? "452 4.3.1 not enough storage now, try again later" : deferredReply;
      }
    },
    idle: inboundStore.idle,
  };

  function logFailure(error: unknown): void {
    if (isDatabaseAway(error))
      log.warn({ reason: (error as Error).message }, "deferred inbound mail because the database is not available");
    else log.error({ err: error }, "deferred inbound mail because of an internal error");
  }
}

function isStoreAway(error: unknown): boolean {
  return error instanceof Problem && error.cause instanceof StoreError;
}

/** One target per receiving domain, with the addresses of the message at that domain. */
function targetsOf(addressees: readonly Addressee[]): Target[] {
  const targets = new Map<string, Target>();
  for (const addressee of addressees) {
    if (addressee.kind !== "domain") continue;
    const { id, workspaceId, domain } = addressee.domain;
    const target = targets.get(id) ?? { workspaceId, domainId: id, domain, addresses: [] };
    target.addresses.push(addressee.address);
    targets.set(id, target);
  }
  return [...targets.values()];
}

/** Message-IDs in the threading headers that have the form of ours. */
function candidatesOf({ repliesTo }: Digest): Candidate[] {
  return repliesTo.map((messageId) => {
    const ours = readMessageId(messageId);
    return { id: ours && fromWireId("email", ours.emailId), messageId };
  });
}

type InboundInput = {
  mail: IncomingMail;
  digest: ArrivedDigest;
  verdicts: Verdicts;
  target: Target;
  nowMs: number;
};

function inboundOf({ mail, digest, verdicts, target, nowMs }: InboundInput): NewInbound {
  const { parent } = target;
  const id = makeUuid(nowMs);
  const { contentHash } = digest;
  // RFC 3834 §2: an automatic answer is not a reply, so that programs that act on replies do not act on it.
  const kind = parent && !digest.automatic ? "reply" : "received";
  const { from, subject, body, newText, html, messageId, inReplyTo, attachments } = digest;
  const common = {
    from,
    to: target.addresses,
    subject,
    body,
    html,
    messageId,
    attachments,
    verdicts,
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
    workspaceId: target.workspaceId,
    domainId: target.domainId,
    domain: target.domain,
    recipients: target.addresses.map((address) => ({
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
    summary: {
      references: digest.references,
      attachments,
      replyTo: digest.replyTo || undefined,
      positions: digest.positions,
    },
    texts: digest.complete ? { body, newText, html } : undefined,
    verdicts: verdictsOnWire(verdicts),
    event: { id: makeUuid(nowMs), type: kind === "reply" ? "email.replied" : "email.received", payload },
    parent: parent && { id: parent.id, messageId: parent.messageId, metadata: parent.metadata },
    raw: mail.message,
  };
}
