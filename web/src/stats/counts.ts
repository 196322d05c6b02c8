/** What the chart, the figures and the tables read from counts. */
import type { StatsCounts } from "../../../src/gen/v1/stats_pb.ts";
import type { Tone } from "../parts/outcome.tsx";
import type { Behind } from "./links.ts";

/** Mail that a relay accepted counts as delivered, because Posthorn cannot see further. */
export function deliveredIn({ delivered, sent }: Pick<StatsCounts, "delivered" | "sent">): number {
  return delivered + sent;
}

export type Series = {
  /** The emails behind the number. Delays are counted as events: most of these emails have another outcome by now. */
  outcome?: Behind["outcome"];
  tone: Tone;
  name: string;
  read(counts: StatsCounts): number;
};

/** From the bottom of a bar to its top. */
export const series: readonly Series[] = [
  { outcome: "delivered,sent", tone: "delivered", name: "Delivered", read: deliveredIn },
  { tone: "delayed", name: "Delays", read: (counts) => counts.delayed },
  { outcome: "bounced", tone: "bounced", name: "Bounced", read: (counts) => counts.bounced },
  { outcome: "complained", tone: "complained", name: "Complaints", read: (counts) => counts.complained },
];

export function isEmpty(counts: StatsCounts | undefined): boolean {
  if (!counts) return true;
  return counts.accepted + counts.failed + series.reduce((sum, { read }) => sum + read(counts), 0) === 0;
}
