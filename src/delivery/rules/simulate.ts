/** The outcome of simulated delivery, for test keys and capture mode: the recipient's mailbox name and the attempt's number decide. The
 * simulator in transport.ts calls it. */

import type { Evidence, Reply } from "../../smtp/client/evidence.ts";
import { classify, type Outcome } from "./outcome.ts";

/** The delay until a deferred attempt is retried and until a complaint or reply follows; replaces the usual schedule. */
export const simulatedStepMs = 1_000;

export type FollowUpKind = "complaint" | "reply";

export type Simulated =
  | {
      kind: "outcome";
      outcome: Outcome;
      followUp: FollowUpKind | null;
      /** Until the next attempt or the follow-up. */
      afterMs: number | null;
    }
  /** As if the address were on the suppression list. */
  | { kind: "suppressed" };

/** `attempt` counts from 1. A label after "+" is ignored, so that tests can use distinct addresses such as `bounced+7@`. */
export function simulate({ address, attempt }: { address: string; attempt: number }): Simulated {
  const mailbox = address
    .slice(0, Math.max(address.lastIndexOf("@"), 0))
    .toLowerCase()
    .replace(/\+.*$/s, "");
  switch (mailbox) {
    case "bounced":
      return refuse(550, "5.1.1", "No such user here (simulated)");
    case "full":
      if (attempt === 1) return refuse(452, "4.2.2", "Mailbox full, try again later (simulated)");
      return refuse(552, "5.2.2", "Mailbox full (simulated)");
    case "delayed":
      if (attempt <= 2) return refuse(451, "4.7.1", "Greylisted, please come back later (simulated)");
      return deliver(null);
    case "complained":
      return deliver("complaint");
    case "replied":
      return deliver("reply");
    case "suppressed":
      return { kind: "suppressed" };
    default:
      return deliver(null);
  }
}

function deliver(followUp: FollowUpKind | null): Simulated {
  const accepted: Evidence = { kind: "accepted", reply: makeReply(250, "2.0.0", "Delivered (simulated)") };
  return { kind: "outcome", outcome: judge(accepted), followUp, afterMs: followUp && simulatedStepMs };
}

function refuse(code: number, enhanced: string, text: string): Simulated {
  const outcome = judge({ kind: "refused", phase: "rcpt", reply: makeReply(code, enhanced, text) });
  return { kind: "outcome", outcome, followUp: null, afterMs: outcome.kind === "deferred" ? simulatedStepMs : null };
}

/** Judged like a real reply, except that a simulation never puts an address on the suppression list. */
function judge(evidence: Evidence): Outcome {
  return { ...classify(evidence, { relay: false }), suppress: false };
}

function makeReply(code: number, enhanced: string, text: string): Reply {
  return { code, enhanced, text, line: `${code} ${enhanced} ${text}` };
}
