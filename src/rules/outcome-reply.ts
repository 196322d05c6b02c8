/** Finds the category of a receiver's refusal in the tables of `outcome-rules.ts`. */
import type { Phase, Reply } from "./outcome-evidence.ts";
import { type Category, codeRules, enhancedRules, wordingRules } from "./outcome-rules.ts";

export interface ReplyReading {
  category: Category;
  /** A 5xx that time may heal. */
  temporary: boolean;
  /** About this recipient, although its category usually concerns the whole destination. */
  recipientOnly: boolean;
}

/** Wordings first, since receivers use enhanced codes loosely; then the enhanced code; then the plain one. */
export function readReply(phase: Phase, reply: Reply): ReplyReading {
  // What a reply means stands at its beginning; the bound also keeps one that is made to be slow from being so.
  const text = reply.text.slice(0, maxCharacters).replace(/\s+/g, " ").replace(quotedAddress, "<address>");
  const codeClass = Math.floor(reply.code / 100);
  const rule = wordingRules.find(
    (candidate) =>
      isPossible(candidate.category, phase) &&
      (candidate.codeClass === undefined || candidate.codeClass === codeClass) &&
      (candidate.phases === undefined || candidate.phases.includes(phase)) &&
      (candidate.enhanced === undefined || candidate.enhanced.test(reply.enhanced ?? "")) &&
      candidate.wording.test(text),
  );
  if (!rule) return { category: byCode(phase, reply), temporary: false, recipientOnly: false };
  return { category: rule.category, temporary: rule.temporary ?? false, recipientOnly: rule.recipientOnly ?? false };
}

function byCode(phase: Phase, reply: Reply): Category {
  if (phase === "auth") return "relay-login";
  const [, subject = "", detail = ""] = /^\d\.(\d+)\.(\d+)$/.exec(reply.enhanced ?? "") ?? [];
  const category =
    enhancedRules[`${subject}.${detail}`] ??
    enhancedRules[subject] ??
    codeRules[`${reply.code} ${phase}`] ??
    codeRules[reply.code] ??
    "other";
  if (isPossible(category, phase)) return category;
  return phase === "mail" ? "sender-rejected" : "other";
}

/** Nothing is known of a recipient before it was named: an unknown user at MAIL is the sender. */
function isPossible(category: Category, phase: Phase): boolean {
  return !mailboxCategories.has(category) || phase === "rcpt" || phase === "data" || phase === "dot";
}

/** What a mailbox alone can be. */
const mailboxCategories: ReadonlySet<Category> = new Set(["unknown-mailbox", "mailbox-disabled", "mailbox-full"]);

const maxCharacters = 1000;

/** An address that the reply repeats says nothing, whatever words it is made of: `<virus@example.com>`. */
const quotedAddress = /<?[^\s<>()@,;:]{1,64}@[^\s<>()@,;:]{1,255}>?/g;
