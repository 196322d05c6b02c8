/** Judges the evidence of an attempt for each recipient: what happened, why, whom it concerns, and whether to retry. `readReply` finds the
 * category of a reply in the tables of outcome-rules.ts. The judge, the pace and the simulation call it. */
import {
  type Evidence,
  isInDoubt,
  openingPhases,
  type Phase,
  type Reply,
  type UnroutableReason,
} from "../../smtp/client/evidence.ts";
import {
  type BounceType,
  type Category,
  categories,
  codeRules,
  enhancedRules,
  type WordingRule,
  wordingRules,
} from "./outcome-rules.ts";

export type OutcomeKind = "delivered" | "sent" | "deferred" | "bounced" | "failed";

/** What a failure concerns. A deferred outcome of scope `destination` slows down all mail for the site. */
export type OutcomeScope = "recipient" | "message" | "destination";

export interface Outcome {
  /** `delivered` to the recipient's own server, `sent` to a relay, `deferred` until another attempt. `bounced` and `failed` are final. */
  kind: OutcomeKind;
  category: Category;
  scope: OutcomeScope;
  /** What a bounce means for the address; null unless bounced. */
  bounceType: BounceType | null;
  /** The receiver's code, or ours where no server replied. */
  enhancedCode: string | null;
  /** The receiver's reply on one line; null where no server replied. */
  reply: string | null;
  /** One sentence for humans. */
  reason: string;
  /** Add the address to the suppression list. */
  suppress: boolean;
  /** The receiver may have accepted the message, so that another attempt may deliver it twice. */
  inDoubt: boolean;
  /** The reply's code alone decided: no rule knows its wording. */
  unknownWording?: true;
}

export interface Context {
  /** The server was our relay, not the recipient's own server. */
  relay: boolean;
}

type Verdict = { kind: OutcomeKind; category: Category; scope: OutcomeScope };

const maxReplyCharacters = 1000;

/** Temporary refusals that the next message to the same site would also get. */
const destinationCategories: ReadonlySet<Category> = new Set(["rate-limited", "reputation", "tls"]);

/** Categories that only a recipient can have. */
const mailboxCategories: ReadonlySet<Category> = new Set(["unknown-mailbox", "mailbox-disabled", "mailbox-full"]);

/** An address that the reply repeats. Removed before matching, since its words mean nothing: `<virus@example.com>`. */
const quotedAddress = /<?[^\s<>()@,;:]{1,64}@[^\s<>()@,;:]{1,255}>?/g;

const brokenSession = { kind: "deferred", category: "network" } as const;
const tlsFailure = { kind: "deferred", category: "tls", scope: "destination", code: "4.7.5" } as const;
const daneFailure = { ...tlsFailure, category: "dane" } as const;
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
  // Internal errors: the address check and the composer should have prevented both.
  "bad-address": { kind: "failed", category: "invalid-address", scope: "recipient", code: "5.1.3" },
  "bad-message": { kind: "failed", category: "protocol", scope: "message", code: "5.6.0" },
} as const;

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
      return {
        ...ours(evidence.dane ? daneFailure : tlsFailure, evidence),
        reply: evidence.reply && shorten(evidence.reply.line),
      };
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

/** The final outcome of a recipient whose last attempt was deferred and that expires before the next one. */
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

function judgeRefusal(phase: Phase, reply: Reply, context: Context): Outcome {
  const { category, temporary, recipientOnly, unknown } = readReply(phase, reply);
  // A server that refuses the session refuses this host, not this message, and an operator may fix that in time. Postfix treats a 5xx
  // greeting the same way (smtp_skip_5xx_greeting). A refused HELO or AUTH is no different.
  const opening = openingPhases.has(phase);
  // The operator has to fix a login that the relay rejects, at AUTH or at MAIL.
  const login = context.relay && category === "relay-login";
  const deferred = reply.code < 500 || opening || login || temporary;
  const affectsSite = deferred && !recipientOnly && destinationCategories.has(category);
  const ofDestination = opening || login || affectsSite || (reply.code === 421 && !recipientOnly);
  const ofRecipient = recipientOnly || phase === "rcpt";
  const outcome = fromReply(
    {
      kind: deferred ? "deferred" : "bounced",
      category,
      scope: ofDestination ? "destination" : ofRecipient ? "recipient" : "message",
    },
    reply,
  );
  return { ...outcome, suppress: isMailboxGone(outcome), ...(unknown && { unknownWording: true }) };
}

/** 5.1.1, 5.1.10, 5.2.1 and their wordings. Refusals by policy (5.7.x) concern the sender, whatever their wording, and never suppress an
 * address. */
function isMailboxGone({ kind, category, enhancedCode }: Outcome): boolean {
  const gone = category === "unknown-mailbox" || category === "mailbox-disabled";
  return kind === "bounced" && gone && !/^\d\.7\./.test(enhancedCode ?? "");
}

function fromReply(verdict: Verdict, reply: Reply): Outcome {
  const line = shorten(reply.line);
  return outcome(verdict, { enhancedCode: reply.enhanced, reply: line, reason: line, inDoubt: false });
}

/** An outcome without a reply from the receiver: the enhanced code is our own. */
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

/** A connection dropped before DATA is a problem of the destination. After DATA, the message itself may be the cause. */
function scopeOfDrop(phase: Phase): OutcomeScope {
  return phase === "data" || phase === "dot" || phase === "after-dot" ? "message" : "destination";
}

export interface ReplyReading {
  category: Category;
  /** The row of the wordings that decided. Absent: no row knows the text. */
  rule?: WordingRule;
  /** Neither the wording nor a specific enhanced code says what the receiver means. */
  unknown: boolean;
  /** Retry, although the code is a 5xx. */
  temporary: boolean;
  /** Concerns this recipient only, although the category usually concerns the whole destination. */
  recipientOnly: boolean;
}

/** Finds the category of a refusal: by its wording first, since receivers use enhanced codes loosely, then by the enhanced code, then by
 * the plain code. */
export function readReply(phase: Phase, reply: Reply): ReplyReading {
  // The relevant words come first. The limit also bounds the time that the regular expressions can take.
  const text = reply.text.slice(0, maxReplyCharacters).replace(/\s+/g, " ").replace(quotedAddress, "<address>");
  const codeClass = Math.floor(reply.code / 100);
  const rule = wordingRules.find(
    (candidate) =>
      isPossible(candidate.category, phase) &&
      (candidate.codeClass === undefined || candidate.codeClass === codeClass) &&
      (candidate.phases === undefined || candidate.phases.includes(phase)) &&
      (candidate.enhanced === undefined || candidate.enhanced.test(reply.enhanced ?? "")) &&
      candidate.wording.test(text),
  );
  if (!rule) return { ...byCode(phase, reply), temporary: false, recipientOnly: false };
  const { category, temporary = false, recipientOnly = false } = rule;
  return { category, rule, unknown: false, temporary, recipientOnly };
}

function byCode(phase: Phase, reply: Reply): Pick<ReplyReading, "category" | "unknown"> {
  if (phase === "auth") return { category: "relay-login", unknown: false };
  const [, subject = "", detail = ""] = /^\d\.(\d+)\.(\d+)$/.exec(reply.enhanced ?? "") ?? [];
  const specific = enhancedRules[`${subject}.${detail}`];
  const category =
    specific ?? enhancedRules[subject] ?? codeRules[`${reply.code} ${phase}`] ?? codeRules[reply.code] ?? "other";
  const unknown = specific === undefined || specific === "other";
  if (isPossible(category, phase)) return { category, unknown };
  return { category: phase === "mail" ? "sender-rejected" : "other", unknown };
}

/** Before RCPT the receiver does not know the recipient: an unknown user at MAIL is the sender. */
function isPossible(category: Category, phase: Phase): boolean {
  return !mailboxCategories.has(category) || phase === "rcpt" || phase === "data" || phase === "dot";
}
