/** Decides whether a scheduled email can get another time: UpdateEmail in service.ts. ../store/reschedule.ts reads the state and stores the
 * new time. */
import { invalid, Problem, type Violation } from "../../ops/problem.ts";
import { maxAheadMs, scheduleViolations } from "./check.ts";

/** An email and its recipients while their rows are locked. */
export type ScheduledState = {
  createdAt: Date;
  scheduledAt: Date | null;
  expiresAt: Date;
  /** The caller of SendEmail named `expiresAt`. */
  hasOwnExpiry: boolean;
  /** The database's clock. */
  wallMs: number;
  recipients: readonly {
    status: string;
    attempts: number;
    isLeased: boolean;
    /** An attempt may have been made, although the database has no record of it. */
    inDoubt: boolean;
  }[];
};

/** Retention keeps the mail of all workspaces of a week while one email of that week waits, so no email waits for ever. And an email is in the
 * history for some time after its delivery, for bounces and replies. */
const maxWaitMs = 2 * maxAheadMs;

/** The violations of the request itself. */
export function checkTime(scheduledAt: Date | undefined, nowMs: number): Violation[] {
  const field = "scheduledAt";
  if (!scheduledAt) return [{ field, description: "is required: the new time, such as 2030-01-31T08:00:00Z" }];
  // The binary form of a timestamp can be far outside of the range of dates.
  if (Number.isNaN(scheduledAt.getTime()))
    return [{ field, description: "is outside of the range of dates; choose a time up to 30 days ahead" }];
  return scheduleViolations(scheduledAt, nowMs, "choose the current time to send now");
}

/** False: the email already has this time. Throws the Problem of an email that must keep its time. */
export function isNewTime(state: ScheduledState, requested: Date): boolean {
  const { scheduledAt, wallMs } = state;
  if (!scheduledAt) throw fixed("it was sent without scheduledAt", sendAgain);
  if (state.recipients.some(({ status }) => status === "canceled")) throw fixed("it was canceled", sendAgain);
  if (isSame(scheduledAt.getTime(), requested.getTime(), wallMs)) return false;
  if (state.recipients.some(({ isLeased }) => isLeased)) throw fixed("it is being sent right now");
  if (state.recipients.some(({ attempts, inDoubt }) => attempts > 0 || inDoubt))
    throw fixed("its first attempt has been made");
  if (state.recipients.some(({ status }) => status !== "queued")) throw fixed("at least one recipient is finished");
  if (scheduledAt.getTime() <= wallMs)
    throw fixed(`its time ${scheduledAt.toISOString()} has passed, and it will be sent as soon as possible`);
  const violations = [
    ...waitViolations(state, requested),
    ...(state.hasOwnExpiry ? expiryViolations(state, requested) : []),
  ];
  if (violations.length > 0) throw invalid(violations);
  return true;
}

/** A past time means now and is stored as the time of the call. So a repeated call finds a time between the requested one and now. */
function isSame(storedMs: number, requestedMs: number, wallMs: number): boolean {
  return storedMs === requestedMs || (requestedMs < storedMs && storedMs <= wallMs);
}

function waitViolations({ createdAt }: ScheduledState, requested: Date): Violation[] {
  if (requested.getTime() <= createdAt.getTime() + maxWaitMs) return [];
  const names = `is ${requested.toISOString()}, more than 60 days after this email was accepted (${createdAt.toISOString()})`;
  return [{ field: "scheduledAt", description: `${names}; choose an earlier time, or cancel it and send it again` }];
}

/** The rules of SendEmail, for an expiry that stays. */
function expiryViolations({ expiresAt, wallMs }: ScheduledState, requested: Date): Violation[] {
  const dueMs = Math.max(requested.getTime(), wallMs);
  const names = `is ${requested.toISOString()}, and the expiresAt of this email is ${expiresAt.toISOString()}`;
  if (expiresAt.getTime() <= dueMs)
    return [{ field: "scheduledAt", description: `${names}; choose a time before it, or cancel and send again` }];
  if (expiresAt.getTime() > dueMs + maxAheadMs)
    return [
      {
        field: "scheduledAt",
        description: `${names}, more than 30 days later; choose a later time, or cancel and send again`,
      },
    ];
  return [];
}

const sendAgain = "Send a new email with the time that you want.";

function fixed(why: string, whatToDo = "CancelEmail stops further attempts."): Problem {
  return new Problem("failed_precondition", `The time of this email cannot be changed: ${why}. ${whatToDo}`);
}
