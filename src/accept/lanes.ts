/** Where emails that were just stored wait: told with the wake-up, so that nobody has to look for them. */
import type { NewEmail } from "../store/emails.ts";
import { laneHint } from "../store/lease.ts";
import type { Wake } from "../store/wake.ts";

/** A scheduled one is found by the poll in its time. */
export function tellMail(wake: Wake, emails: readonly NewEmail[]): void {
  const hints = new Set<string>();
  for (const { scheduledAt, workspaceId, recipients } of emails) {
    if (scheduledAt !== undefined) continue;
    for (const { destination } of recipients) hints.add(laneHint({ destination, workspaceId }));
  }
  if (hints.size > 0) wake.tell("mail", [...hints]);
}
