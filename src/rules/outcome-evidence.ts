/** What one attempt saw for one recipient, before anybody judges it: written by the SMTP client and the router, read by `classify`. */

/** How far a session had come. `dot` is the reply to the final dot, `after-dot` its absence: the message may have been taken. */
export const phases = ["connect", "banner", "ehlo", "tls", "auth", "mail", "rcpt", "data", "dot", "after-dot"] as const;
export type Phase = (typeof phases)[number];

/** A server's whole reply: `text` without the codes, one line per line said; `line` all of it as one line. */
export interface Reply {
  code: number;
  enhanced: string | null;
  text: string;
  line: string;
}

/** Why no server was asked at all. */
export type UnroutableReason =
  | "nxdomain"
  | "null-mx"
  | "no-address"
  | "address-refused"
  | "servfail"
  | "dns-timeout"
  | "bad-domain";

/** Why a message was not offered to a server that would have had to refuse or spoil it. */
export type UnsendableReason = "smtputf8" | "too-large" | "eight-bit" | "bad-address" | "bad-message";

export type Evidence =
  | { kind: "accepted"; reply: Reply }
  | { kind: "refused"; phase: Phase; reply: Reply }
  | { kind: "lost"; phase: Phase; code: string; message: string }
  | { kind: "timeout"; phase: Phase; message: string }
  | { kind: "protocol"; phase: Phase; message: string }
  /** STARTTLS was refused, missing or broken: an opportunistic sender connects again without it. */
  | { kind: "tls"; phase: "tls"; reply: Reply | null; message: string }
  | { kind: "unsendable"; reason: UnsendableReason; message: string }
  | { kind: "unroutable"; reason: UnroutableReason; message: string }
  /** We stopped it ourselves: shutdown, or the caller's time was up. */
  | { kind: "aborted"; phase: Phase; message: string };

/** The final dot was sent, or may have been, and no reply to it came: the receiver may hold the message. */
export function isInDoubt(evidence: Evidence): boolean {
  return "phase" in evidence && evidence.phase === "after-dot";
}

/** Before these are over there is no session: the server was not reached, or did not want to talk. */
export const openingPhases: ReadonlySet<Phase> = new Set(["connect", "banner", "ehlo", "tls", "auth"]);

/** A session came about, whatever was said in it. */
export function opensSession(evidence: Evidence): boolean {
  if (evidence.kind === "unroutable") return false;
  return !("phase" in evidence) || !openingPhases.has(evidence.phase);
}
