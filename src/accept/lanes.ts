/** Where emails that were just stored wait: told with the wake-up, so that nobody has to look for them. */
import type { NewEmail } from "../store/emails.ts";
import { laneHint } from "../store/lease.ts";
import type { Wake } from "../store/wake.ts";

/** A scheduled one is found by the poll in its time. */
export function tellMail(wake: Wake, emails: readonly NewEmail[]): void {
  const hints = emails
    .filter(({ scheduledAt }) => scheduledAt === undefined)
    .flatMap(({ workspaceId, recipients }) =>
      recipients.map(({ destination }) => laneHint({ destination, workspaceId })),
    );
  if (hints.length > 0) wake.tell("mail", [...new Set(hints)]);
}
