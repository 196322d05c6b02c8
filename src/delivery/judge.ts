/** Turns the evidence of an attempt into settlements: each recipient's new status, the time of its next attempt and its event, in the
 * contract's terms. The attempt and the simulator call it. */
import type { DaneResult } from "../smtp/client/dane.ts";
import type { Evidence } from "../smtp/client/evidence.ts";
import { classify, expire, type Outcome } from "./rules/outcome.ts";
import { hashOf } from "./rules/pace.ts";
import { nextAttempt } from "./rules/retry.ts";
import type { Leased } from "./store/lease.ts";
import type { Settlement } from "./store/settle.ts";

/** Facts about the SMTP session that go into the event. */
export type Conversation = {
  relay: boolean;
  remoteMx: string | undefined;
  tls:
    | { protocol: string; cipher: string; verified: boolean; mtaSts?: "enforce" | "testing"; dane?: DaneResult }
    | undefined;
  /** Why the mail went to the fallback relay instead of the recipient's server. */
  relayReason?: string;
};

export type JudgeDeps = {
  scheduleMs: readonly number[];
  /** The waits after attempts in doubt: long, because each repeat may be another copy. */
  doubtScheduleMs: readonly number[];
  /** Wall time, for the times in events. */
  nowMs(): number;
  /** Service time, which decides. */
  serviceMs(): number;
  makeEventId(): string;
};

export function createJudge(deps: JudgeDeps) {
  /** `undefined`: we aborted the attempt before the receiver could have accepted the message, so the lease is released unchanged. */
  function judge(row: Leased, evidence: Evidence, conversation: Conversation): Settlement | undefined {
    const outcome = classify(evidence, { relay: conversation.relay });
    if (evidence.kind === "aborted" && !outcome.inDoubt) return undefined;
    if (outcome.kind !== "deferred") return finish(row, outcome, conversation);
    const now = times();
    const next = nextAttempt({
      ...waitsAfter(row, outcome.inDoubt),
      random: () => jitterOf(row),
      leftMs: leftMs(row, now),
    });
    if ("expired" in next) return finish(row, expire(outcome), conversation);
    return delay({ row, outcome, conversation, waitMs: next.waitMs, wallMs: now.wallMs });
  }

  function times(): Times {
    return { wallMs: deps.nowMs(), serviceMs: deps.serviceMs() };
  }

  /** Mail without a time of its caller is attempted at least once, however late, unless its lane is paused or blocked. */
  function isExpired(row: Leased): boolean {
    if (row.held) return true;
    if (isWaiting(row)) return false;
    if (row.email.defaultExpiresAt && row.attempts === 0) return false;
    return leftMs(row, times()) <= 0;
  }

  function waitsAfter(row: Leased, inDoubt: boolean) {
    if (inDoubt) return { attempts: row.doubts + 1, scheduleMs: deps.doubtScheduleMs };
    return { attempts: row.attempts + 1, scheduleMs: deps.scheduleMs };
  }

  /** The settlement of a simulated attempt. The simulation sets its own retry delay. */
  function simulated(
    row: Leased,
    { outcome, afterMs }: { outcome: Outcome; afterMs: number | null },
    conversation: Conversation,
  ): Settlement {
    if (outcome.kind !== "deferred") return finish(row, outcome, conversation);
    return delay({ row, outcome, conversation, waitMs: afterMs ?? 0, wallMs: deps.nowMs() });
  }

  function delay(input: {
    row: Leased;
    outcome: Outcome;
    conversation: Conversation;
    waitMs: number;
    wallMs: number;
  }): Settlement {
    const { row, outcome, conversation, waitMs, wallMs } = input;
    return {
      ...base(row, outcome, conversation),
      status: "delayed",
      dueInMs: waitMs,
      event: {
        id: deps.makeEventId(),
        type: "email.delayed",
        payload: {
          ...common(row, outcome, conversation),
          nextAttemptAt: isoAfter(wallMs, waitMs),
          ...doubtOf(row, outcome),
        },
      },
    };
  }

  function finish(row: Leased, outcome: Outcome, conversation: Conversation): Settlement {
    const status = outcome.kind as Exclude<Outcome["kind"], "deferred">;
    return {
      ...base(row, outcome, conversation),
      status,
      dueInMs: undefined,
      event: { id: deps.makeEventId(), type: `email.${status}`, payload: payloadOf(row, outcome, conversation) },
    };
  }

  function payloadOf(row: Leased, outcome: Outcome, conversation: Conversation): Record<string, unknown> {
    const { recipients, smtpReply, remoteMx, attempts, category, enhancedCode } = common(row, outcome, conversation);
    if (outcome.kind === "delivered" || outcome.kind === "sent") {
      return {
        recipients,
        remoteMx,
        tls: conversation.tls,
        smtpReply,
        attempts,
        possibleDuplicate: row.inDoubt,
        ...(outcome.kind === "sent" && conversation.relayReason && { relayReason: conversation.relayReason }),
      };
    }
    if (outcome.kind === "failed") return { recipients, category, reason: storable(outcome.reason), attempts };
    return {
      recipients,
      bounceType: `BOUNCE_TYPE_${(outcome.bounceType ?? "undetermined").toUpperCase()}`,
      category,
      enhancedCode,
      smtpReply,
      remoteMx,
      attempts,
      ...doubtOf(row, outcome),
    };
  }

  /** A failure without a receiver: an internal error, or something that the workspace has to fix. */
  function fail(row: Leased, category: string, reason: string): Settlement {
    return {
      ...identity(row),
      status: "failed",
      dueInMs: undefined,
      attempts: row.attempts,
      inDoubt: row.inDoubt,
      doubts: row.doubts,
      reply: reason,
      remoteMx: undefined,
      suppress: undefined,
      event: {
        id: deps.makeEventId(),
        type: "email.failed",
        payload: { recipients: [row.address], category, reason, attempts: row.attempts },
      },
    };
  }

  return {
    judge,
    simulated,
    fail,
    /** An internal error during the attempt: retried on the usual schedule, failed once the email expires. */
    fault(row: Leased, inDoubt: boolean): Settlement {
      const now = times();
      const attempts = row.attempts + 1;
      const random = () => jitterOf(row);
      const next = nextAttempt({ ...waitsAfter(row, inDoubt), random, leftMs: leftMs(row, now) });
      const failed = fail(row, "internal", faultReason);
      if ("expired" in next) return failed;
      const reply = faultReply;
      const doubt = doubtOf(row, { inDoubt });
      const payload = { recipients: [row.address], category: "internal", smtpReply: reply, attempts, ...doubt };
      const nextAttemptAt = isoAfter(now.wallMs, next.waitMs);
      return {
        ...failed,
        status: "delayed",
        dueInMs: next.waitMs,
        attempts,
        reply,
        inDoubt: row.inDoubt || inDoubt,
        doubts: row.doubts + (inDoubt ? 1 : 0),
        event: { id: deps.makeEventId(), type: "email.delayed", payload: { ...payload, nextAttemptAt } },
      };
    },
    /**
     * The content is in object storage, which does not serve since `sinceMs`. The first time, the recipient is delayed, so that its workspace
     * sees why. After that it only waits, without using up attempts or its expiry (store/lease.ts).
     */
    waitForContent(row: Leased, sinceMs: number | undefined): Settlement | { postponeMs: number } {
      const awayMs = performance.now() - (sinceMs ?? performance.now());
      const waitMs = Math.round(
        Math.min(Math.max(awayMs / 2, shortestWaitMs), longestWaitMs) * (1 + jitterOf(row) / 4),
      );
      if (row.reply === storeReply) return { postponeMs: waitMs };
      const { attempts } = row;
      const payload = {
        recipients: [row.address],
        category: "internal",
        smtpReply: storeReply,
        attempts,
        ...doubtOf(row, { inDoubt: false }),
      };
      return {
        ...fail(row, "internal", storeReply),
        status: "delayed",
        dueInMs: waitMs,
        event: {
          id: deps.makeEventId(),
          type: "email.delayed",
          payload: { ...payload, nextAttemptAt: isoAfter(deps.nowMs(), waitMs) },
        },
      };
    },
    /** The email expired before this attempt, so no server is contacted. */
    expired(row: Leased): Settlement {
      // The last attempt failed with an internal error, so this is not the receiver's bounce.
      if (row.reply === faultReply) return fail(row, "internal", faultReason);
      const reason = row.reply ?? "the email expired in the queue before the first attempt";
      const { attempts, address } = row;
      const details = { category: "expired", enhancedCode: "4.4.7", smtpReply: reason, remoteMx: "", attempts };
      return {
        ...fail(row, "expired", reason),
        status: "bounced",
        event: {
          id: deps.makeEventId(),
          type: "email.bounced",
          payload: {
            recipients: [address],
            bounceType: "BOUNCE_TYPE_TRANSIENT",
            ...details,
            ...doubtOf(row, { inDoubt: false }),
          },
        },
      };
    },
    isExpired,
    suppress(row: Leased, suppression: NonNullable<Leased["suppression"]>): Settlement {
      const topic = row.email.envelope.unsubscribe?.topic ?? "";
      const left = suppression.reason === "unsubscribed";
      const payload = {
        recipients: [row.address],
        reason: `SUPPRESSION_REASON_${suppression.reason.toUpperCase()}`,
        ...(suppression.sourceEvent && { sourceEventId: `evt_${suppression.sourceEvent}` }),
        ...(left && { topic }),
      };
      return {
        ...identity(row),
        status: "suppressed",
        dueInMs: undefined,
        attempts: row.attempts,
        inDoubt: row.inDoubt,
        doubts: row.doubts,
        reply: left
          ? `not attempted: the recipient has unsubscribed from ${topic}`
          : `not attempted: the address is on the suppression list (${suppression.reason})`,
        remoteMx: undefined,
        suppress: undefined,
        event: { id: deps.makeEventId(), type: "email.suppressed", payload },
      };
    },
  };
}

/** The same for all recipients of an email, so that those that were deferred together are due together and share the composed message. */
function jitterOf(row: Leased): number {
  return hashOf(`${row.emailId} ${row.attempts}`) / 2 ** 32;
}

type Times = { wallMs: number; serviceMs: number };

/** The time until the email expires: by service time, or by wall time if the caller named the time. */
function leftMs({ email }: Leased, now: Times): number {
  if (email.defaultExpiresAt) return email.defaultExpiresAt.getTime() - now.serviceMs;
  return email.expiresAt.getTime() - now.wallMs;
}

function isoAfter(wallMs: number, waitMs: number): string {
  return new Date(wallMs + waitMs).toISOString();
}

/** Do not change: `expired` compares it with the reply stored by an earlier attempt, perhaps of an earlier release. */
const faultReply = "a fault of this service kept the attempt from being made; it will be made again";
/** Do not change, for the same reason. */
const storeReply =
  "the object storage of this service, which has the content of the email, cannot be read at the moment; the email is sent when it can";
const shortestWaitMs = 10_000;
const longestWaitMs = 5 * 60_000;

/** The last attempt found the object storage away. The email is attempted once more before it expires, unless its caller named the time. */
function isWaiting(row: Leased): boolean {
  return row.reply === storeReply && row.email.defaultExpiresAt !== null && row.email.defaultExpiresAt !== undefined;
}

const faultReason = "The email could not be sent because of an internal error of this service.";

function identity(row: Leased) {
  return { workspaceId: row.workspaceId, emailId: row.emailId, position: row.position, lease: row.lease };
}

function base(row: Leased, outcome: Outcome, conversation: Conversation) {
  return {
    ...identity(row),
    attempts: row.attempts + 1,
    // A later success may be the second copy, so the flag is never cleared.
    inDoubt: row.inDoubt || outcome.inDoubt,
    doubts: row.doubts + (outcome.inDoubt ? 1 : 0),
    reply: storable(outcome.reply ?? outcome.reason),
    remoteMx: conversation.remoteMx && storable(conversation.remoteMx),
    suppress: outcome.suppress ? row.address : undefined,
  };
}

function common(row: Leased, outcome: Outcome, conversation: Conversation) {
  return {
    recipients: [row.address],
    // The contract writes categories with underscores.
    category: outcome.category.replaceAll("-", "_"),
    enhancedCode: outcome.enhancedCode ?? "",
    smtpReply: storable(outcome.reply ?? outcome.reason),
    remoteMx: storable(conversation.remoteMx ?? ""),
    attempts: row.attempts + 1,
  };
}

/** For delayed and bounced events: the receiver may have the message although it did not confirm it. Absent without doubt. */
function doubtOf(row: Leased, { inDoubt }: { inDoubt: boolean }): { possibleDuplicate?: true } {
  return row.inDoubt || inDoubt ? { possibleDuplicate: true } : {};
}

/** Removes what PostgreSQL cannot store (NUL, unpaired surrogates) from a receiver's text, so that the outcome can always be settled. */
function storable(text: string): string {
  return text.replaceAll("\0", " ").toWellFormed();
}
