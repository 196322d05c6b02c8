/** What one attempt saw for one recipient. The SMTP client and the router write it; delivery/rules/outcome.ts judges it. */

/** The phases of a session, in order. `dot`: the server answered the final dot. `after-dot`: it did not, and may have the message. */
export const phases = ["connect", "banner", "ehlo", "tls", "auth", "mail", "rcpt", "data", "dot", "after-dot"] as const;
export type Phase = (typeof phases)[number];

/** The steps of an attempt that a server answers, and whose usual duration differs: opening a session, the envelope, the reply to the message. */
export type AnsweredStep = "open" | "envelope" | "dot";

/** A server's complete reply: `text` is every line without its codes, `line` is the reply with its codes on one line. */
export interface Reply {
  code: number;
  enhanced: string | null;
  text: string;
  line: string;
}

/** Why the router found no server to connect to. */
export type UnroutableReason =
  | "nxdomain"
  | "null-mx"
  | "no-address"
  | "address-refused"
  | "servfail"
  | "dns-timeout"
  | "bad-domain";

/** Why the client did not send the message: the server would have refused or damaged it. */
export type UnsendableReason = "smtputf8" | "too-large" | "eight-bit" | "bad-address" | "bad-message";

export type Evidence =
  | { kind: "accepted"; reply: Reply }
  | { kind: "refused"; phase: Phase; reply: Reply }
  | { kind: "lost"; phase: Phase; code: string; message: string }
  | { kind: "timeout"; phase: Phase; message: string }
  | { kind: "protocol"; phase: Phase; message: string }
  /** STARTTLS was refused, missing or broken. With opportunistic TLS the sender reconnects without it. `dane`: the host's TLSA records
   * require TLS, or their lookup failed. */
  | { kind: "tls"; phase: "tls"; reply: Reply | null; message: string; dane?: true }
  | { kind: "unsendable"; reason: UnsendableReason; message: string }
  /** `mxFailed`: the lookup of the MX records failed, which says nothing about the receiver's servers. */
  | { kind: "unroutable"; reason: UnroutableReason; message: string; mxFailed?: true }
  /** Posthorn ended the attempt: it shut down, or the caller's signal aborted. */
  | { kind: "aborted"; phase: Phase; message: string };

/** The client sent the final dot, or may have, and got no reply: the receiver may have the message. */
export function isInDoubt(evidence: Evidence): boolean {
  return "phase" in evidence && evidence.phase === "after-dot";
}

/** The phases before a session is open. A failure in one of them concerns the server, not the message. */
export const openingPhases: ReadonlySet<Phase> = new Set(["connect", "banner", "ehlo", "tls", "auth"]);

/** True when the server opened a session, whatever the outcome of the message. */
export function sessionOpened(evidence: Evidence): boolean {
  if (evidence.kind === "unroutable") return false;
  return !("phase" in evidence) || !openingPhases.has(evidence.phase);
}
