/** Judges one attempt for one recipient: what happened, why, whom it concerns, and whether to try again. Delivery calls it. */
import {
  type Evidence,
  isInDoubt,
  openingPhases,
  type Phase,
  type Reply,
  type UnroutableReason,
} from "./outcome-evidence.ts";
import { readReply } from "./outcome-reply.ts";
import { type BounceType, type Category, categories } from "./outcome-rules.ts";

export type OutcomeKind = "delivered" | "sent" | "deferred" | "bounced" | "failed";

/** Whom a failure speaks of. A deferred outcome of scope `destination` is a reason to leave all of it alone for a while. */
export type Scope = "recipient" | "message" | "destination";

export interface Outcome {
  /** `delivered` to the recipient's own server, `sent` to a relay, `deferred` for another attempt; the last two are final. */
  kind: OutcomeKind;
  category: Category;
  scope: Scope;
  /** What a bounce says about the address; null unless bounced. */
  bounceType: BounceType | null;
  /** The receiver's, or ours where nobody answered. */
  enhancedCode: string | null;
  /** The receiver's reply on one line; null where there was none. */
  reply: string | null;
  /** One sentence for people. */
  reason: string;
  /** The address goes on the suppression list. */
  suppress: boolean;
  /** The receiver may hold the message: a further attempt may deliver it twice. */
  inDoubt: boolean;
}

export interface Context {
  /** The server asked is our relay, not the recipient's own. */
  relay: boolean;
  /** Recipients that got this same answer at once. */
  sharedBy: number;
}

/** One outcome for each recipient of a transaction, in its order. */
export function classifyAll(results: readonly Evidence[], { relay }: { relay: boolean }): Outcome[] {
  return results.map((evidence) => {
    const sharedBy = results.filter((other) => other === evidence).length;
    return classify(evidence, { relay, sharedBy });
  });
}

export function classify(evidence: Evidence, context: Context): Outcome {
  switch (evidence.kind) {
    case "accepted":
      return fromReply(
        { kind: context.relay ? "sent" : "delivered", category: "accepted", scope: "recipient" },
        evidence.reply,
      );
    case "refused":
      return judgeRefusal(evidence.phase, evidence.reply, context);
    case "tls":
      return { ...ours(tlsFailure, evidence), reply: evidence.reply && shorten(evidence.reply.line) };
    case "unroutable":
      return ours(unroutable[evidence.reason], evidence);
    case "unsendable":
      return ours(unsendable[evidence.reason], evidence);
    case "aborted":
      return ours({ kind: "deferred", category: "interrupted", scope: "message", code: "4.3.2" }, evidence);
    case "protocol":
      return ours(
        { ...brokenSession, category: "protocol", scope: scopeOfDrop(evidence.phase), code: "4.5.0" },
        evidence,
      );
    case "lost":
    case "timeout":
      return ours(
        {
          ...brokenSession,
          scope: scopeOfDrop(evidence.phase),
          code: evidence.phase === "connect" ? "4.4.1" : "4.4.2",
        },
        evidence,
      );
  }
}

/** What a deferred outcome becomes when no time is left for another attempt. */
export function expire(last: Outcome): Outcome {
  return {
    ...last,
    kind: "bounced",
    category: "expired",
    bounceType: "transient",
    suppress: false,
    reason: `given up: ${last.reason}`,
  };
}

type Verdict = { kind: OutcomeKind; category: Category; scope: Scope };

function judgeRefusal(phase: Phase, reply: Reply, context: Context): Outcome {
  const { category, temporary, recipientOnly } = readReply(phase, reply);
  // A server that will not talk to us says so to this machine, not to this message, and whoever runs either may mend that in
  // time. Postfix reads a 5xx greeting the same way (smtp_skip_5xx_greeting); a refused HELO or AUTH is no different.
  const opening = openingPhases.has(phase);
  // Our own relay refusing our login, at AUTH or at MAIL, is for the operator to put right.
  const login = context.relay && category === "relay-login";
  const deferred = reply.code < 500 || opening || login || temporary;
  const meetsAll = deferred && !recipientOnly && destinationCategories.has(category);
  const ofDestination = opening || login || meetsAll || reply.code === 421;
  const ofRecipient = recipientOnly || phase === "rcpt";
  const outcome = fromReply(
    {
      kind: deferred ? "deferred" : "bounced",
      category,
      scope: ofDestination ? "destination" : ofRecipient ? "recipient" : "message",
    },
    reply,
  );
  return { ...outcome, suppress: isMailboxGone(outcome) && (phase === "rcpt" || context.sharedBy === 1) };
}

/**
 * 5.1.1, 5.1.10, 5.2.1 and their wordings. Refusals by policy (5.7.x) are about us, whatever words they use: they never
 * cost an address its mail. Nor does a reply to a whole message, which does not tell who of several is unknown.
 */
function isMailboxGone({ kind, category, enhancedCode }: Outcome): boolean {
  const gone = category === "unknown-mailbox" || category === "mailbox-disabled";
  return kind === "bounced" && gone && !/^\d\.7\./.test(enhancedCode ?? "");
}

function fromReply(verdict: Verdict, reply: Reply): Outcome {
  const line = shorten(reply.line);
  return outcome(verdict, { enhancedCode: reply.enhanced, reply: line, reason: line, inDoubt: false });
}

/** Nobody answered: the enhanced code is what we would have said. */
function ours(verdict: Verdict & { code: string }, evidence: Evidence & { message: string }): Outcome {
  const { kind, category, scope, code } = verdict;
  const facts = { enhancedCode: code, reply: null, reason: evidence.message, inDoubt: isInDoubt(evidence) };
  return outcome({ kind, category, scope }, facts);
}

function outcome(verdict: Verdict, facts: Pick<Outcome, "enhancedCode" | "reply" | "reason" | "inDoubt">): Outcome {
  const bounceType = verdict.kind === "bounced" ? categories[verdict.category] : null;
  return { ...verdict, bounceType, ...facts, suppress: false };
}

function shorten(line: string): string {
  return line.length <= maxReplyCharacters ? line : `${line.slice(0, maxReplyCharacters - 1)}…`;
}

// Before DATA a dropped connection is the destination's trouble; after it, the message itself may be what the server choked on.
function scopeOfDrop(phase: Phase): Scope {
  return phase === "data" || phase === "dot" || phase === "after-dot" ? "message" : "destination";
}

const maxReplyCharacters = 1000;

/** Temporary refusals that will meet the next message to the same receiver just as well. */
const destinationCategories: ReadonlySet<Category> = new Set(["rate-limited", "reputation", "tls"]);

const brokenSession = { kind: "deferred", category: "network" } as const;
const tlsFailure = { kind: "deferred", category: "tls", scope: "destination", code: "4.7.5" } as const;
const noRoute = { kind: "bounced", category: "dns", scope: "destination" } as const;
const noAnswer = { kind: "deferred", category: "dns", scope: "destination", code: "4.4.3" } as const;

const unroutable: Record<UnroutableReason, Verdict & { code: string }> = {
  nxdomain: { ...noRoute, code: "5.1.2" },
  "null-mx": { ...noRoute, code: "5.1.10" }, // RFC 7505 §4.2
  "no-address": { ...noRoute, code: "5.4.4" },
  "address-refused": { ...noRoute, code: "5.4.4" },
  "bad-domain": { ...noRoute, category: "invalid-address", code: "5.1.3" },
  servfail: noAnswer,
  "dns-timeout": noAnswer,
};

const unsendable = {
  smtputf8: { kind: "bounced", category: "smtputf8", scope: "recipient", code: "5.6.7" }, // RFC 6531 §3.5
  "too-large": { kind: "bounced", category: "too-large", scope: "message", code: "5.3.4" },
  "eight-bit": { kind: "bounced", category: "protocol", scope: "message", code: "5.6.3" },
  // The grammar and the composer let neither of these through: a fault of ours.
  "bad-address": { kind: "failed", category: "invalid-address", scope: "recipient", code: "5.1.3" },
  "bad-message": { kind: "failed", category: "protocol", scope: "message", code: "5.6.0" },
} as const;
