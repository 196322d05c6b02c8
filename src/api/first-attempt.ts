/** Waits for the first attempt to every recipient, for callers of SendEmail who want to know at once. Waiting never fails an accepted email. */
import type { Sql } from "../store/db.ts";
import { type EmailState, progressOf } from "../store/email-reads.ts";
import { createLoader } from "../store/loader.ts";
import type { Wake } from "../store/wake.ts";

export type Progress = { status: EmailState; statusMessage: string };

export type FirstAttempt = (
  email: { workspaceId: string; id: string },
  limitMs: number,
  signal: AbortSignal,
) => Promise<Progress | undefined>;

/** A wake-up is a hint: this often the store is asked anyway. */
const pollMs = 500;

export function createFirstAttempt(deps: { sql: Sql; wake: Wake }): FirstAttempt {
  const load = createLoader(async (emails: { workspaceId: string; id: string }[]) => {
    const byId = new Map((await progressOf(deps.sql, emails)).map((row) => [row.id, row]));
    return emails.map((email) => byId.get(email.id));
  });

  /** Undefined when not even the store could be asked: the email is accepted, more is not known. */
  return async (email, limitMs, signal) => {
    const end = performance.now() + limitMs;
    let last: Progress | undefined;
    for (;;) {
      const changed = nextChange(deps.wake, Math.min(pollMs, end - performance.now()), signal);
      const now = await load(email).catch(() => undefined);
      if (now) last = { status: now.status, statusMessage: now.statusMessage };
      // Tried once by everybody: settled, or waiting for another attempt that nobody waits for here.
      const done = now !== undefined && now.untried === 0 && now.status !== "processing";
      if (done || performance.now() >= end || signal.aborted) return last;
      await changed;
    }
  };
}

function nextChange(wake: Wake, limitMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      off();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, Math.max(0, limitMs));
    const off = wake.on("events", done);
    signal.addEventListener("abort", done);
  });
}
