/** The values of the chart as a table, for exact numbers and screen readers. Every number is a link to its emails. */
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { ReactNode } from "react";
import type { GetStatsResponse } from "../../../src/gen/v1/stats_pb.ts";
import { AnchorLink } from "../parts/links.tsx";
import { series } from "./counts.ts";
import { type Behind, emailsBehind } from "./links.ts";
import { bucketEnd, bucketName, type Range } from "./ranges.ts";
import { formatCount, formatDuration, formatRate } from "./scale.ts";

export function FiguresTable({ stats, range }: { stats: GetStatsResponse; range: Range }) {
  // Newest first, so that current values are visible without scrolling.
  const rows = [...stats.buckets].reverse();
  return (
    <details className="more">
      <summary>Show as table</summary>
      <Scrollable label={`Mail in the ${range.words}`}>
        <table className="table">
          <caption className="hidden">{`Mail in the ${range.words}`}</caption>
          <thead>
            <tr>
              {["Start", "Accepted", ...series.map(({ name }) => name), "Bounce rate", "Median (p50)", "p95"].map(
                (name, i) => (
                  <th key={name} scope="col" className={i > 0 ? "end" : undefined}>
                    {name}
                  </th>
                ),
              )}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ start, counts }) =>
              start && counts ? (
                <tr key={String(start.seconds)}>
                  <th scope="row">{bucketName(start, range)}</th>
                  <td className="end">
                    <NumberLink count={counts.accepted} behind={spanOf(start, range)} />
                  </td>
                  {series.map(({ outcome, tone, read }) => (
                    <td key={tone} className="end">
                      <NumberLink count={read(counts)} behind={{ outcome, ...spanOf(start, range) }} />
                    </td>
                  ))}
                  <td className="end">{formatRate(counts.bounceRate)}</td>
                  <td className="end">{formatTime(counts.deliveryP50Ms)}</td>
                  <td className="end">{formatTime(counts.deliveryP95Ms)}</td>
                </tr>
              ) : null,
            )}
          </tbody>
        </table>
      </Scrollable>
    </details>
  );
}

function spanOf(start: Timestamp, range: Range) {
  return { from: start, to: bucketEnd(start, range) };
}

/** A number with a link to the emails behind it; zero has none. */
export function NumberLink({ count, text, behind }: { count: number; text?: string; behind: Behind }) {
  const shown = text ?? formatCount(count);
  if (count === 0) return shown;
  return (
    <AnchorLink {...emailsBehind(behind)} inherit>
      {shown}
    </AnchorLink>
  );
}

/** On a narrow screen the table is wider than the page. It can be focused, so that the keyboard can scroll it. */
export function Scrollable({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard (WCAG 2.1.1)
    <section className="scroll" tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}

export function formatTime(ms: number | undefined): string {
  return ms === undefined ? "–" : formatDuration(ms);
}
