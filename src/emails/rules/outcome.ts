/** The outcome of an email: one word for all of its recipients, from their counts. The statements that settle recipients keep the counts
 * (../store/outcomes.ts). */

/** In the order in which they apply: an email has the first outcome that at least one of its recipients has. */
export const outcomes = [
  "complained",
  "bounced",
  "failed",
  "suppressed",
  "delayed",
  "queued",
  "canceled",
  "sent",
  "delivered",
] as const;
export type Outcome = (typeof outcomes)[number];

/** Recipients by outcome. A recipient that complained also counts as delivered or sent. */
export type OutcomeCounts = Record<Outcome, number>;

/** Outcomes with a row in the table email_outcomes. The others are the usual end of an email. */
export const listedOutcomes: readonly Outcome[] = outcomes.filter(
  (outcome) => outcome !== "sent" && outcome !== "delivered",
);

export function outcomeOf(counts: OutcomeCounts): Outcome {
  return outcomes.find((outcome) => counts[outcome] > 0) ?? "delivered";
}
