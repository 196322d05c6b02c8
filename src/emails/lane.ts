/**
 * Names the lanes of newly stored emails in a wake-up, so that the delivery loop need not search for them. accept.ts and
 * accept-batch.ts send the wake-ups; delivery reads them.
 */

import type { Wake } from "../postgres/wake.ts";
import type { NewEmail } from "./store/emails.ts";

/** The mail of one workspace for one destination. Lanes are served in turn, so that no tenant waits behind another's backlog. */
export type Lane = { destination: string; workspaceId: string };

/** The name of a lane in a wake-up. */
export function laneHint(lane: Lane): string {
  return `${lane.destination} ${lane.workspaceId}`;
}

export function laneFromHint(hint: string): Lane[] {
  const [destination, workspaceId] = hint.split(" ");
  return destination && workspaceId ? [{ destination, workspaceId }] : [];
}

/** Wakes the delivery loops for these emails. Scheduled ones are left out: the poll finds them when they are due. */
export function wakeLanes(wake: Wake, emails: readonly NewEmail[]): void {
  const hints = new Set<string>();
  for (const { scheduledAt, workspaceId, recipients } of emails) {
    if (scheduledAt !== undefined) continue;
    for (const { destination } of recipients) hints.add(laneHint({ destination, workspaceId }));
  }
  if (hints.size > 0) wake.notify("mail", [...hints]);
}

/** Wakes the delivery loops for an email that was rescheduled and is due now. */
export function wakeDestinations(wake: Wake, workspaceId: string, destinations: readonly string[]): void {
  const hints = destinations.map((destination) => laneHint({ destination, workspaceId }));
  if (hints.length > 0) wake.notify("mail", hints);
}
