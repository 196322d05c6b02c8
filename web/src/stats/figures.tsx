/** Tables of the statistics: the values of the plots, for exact numbers and screen readers, and the counts by receiving site. */
import { Title } from "@mantine/core";
import { type ReactNode, useId } from "react";
import type { GetStatsResponse, StatsCounts } from "../../../src/gen/v1/stats_pb.ts";
import { deliveredIn } from "./plots.tsx";
import { bucketName, type Range } from "./ranges.ts";
import { formatCount, formatDuration } from "./scale.ts";

type Column = [name: string, read: (counts: StatsCounts) => string];

const accepted: Column = ["Accepted", (counts) => formatCount(counts.accepted)];
const complaints: Column = ["Complaints", (counts) => formatCount(counts.complained)];
const delivered: Column = ["Delivered", (counts) => formatCount(deliveredIn(counts))];
const bounced: Column = ["Bounced", (counts) => formatCount(counts.bounced)];
const delayed: Column = ["Delayed", (counts) => formatCount(counts.delayed)];
const p50: Column = ["Median (p50)", (counts) => formatTime(counts.deliveryP50Ms)];
const p95: Column = ["p95", (counts) => formatTime(counts.deliveryP95Ms)];

export function FiguresTable({ stats, range }: { stats: GetStatsResponse; range: Range }) {
  const rows = stats.buckets.flatMap(({ start, counts }): [string, StatsCounts][] =>
    start && counts ? [[bucketName(start, range), counts]] : [],
  );
  return (
    <details className="more">
      <summary>Show as table</summary>
      <Figures
        caption={`Mail in the last ${range.words}`}
        first="Start"
        columns={[accepted, delivered, bounced, delayed, complaints, p50, p95]}
        // Newest first, so that current values are visible without scrolling.
        rows={rows.reverse()}
      />
    </details>
  );
}

export function SitesTable({ stats }: { stats: GetStatsResponse }) {
  const id = useId();
  const rows = stats.sites.flatMap(({ site, counts }): [string, StatsCounts][] => (counts ? [[site, counts]] : []));
  if (rows.length === 0) return null;
  return (
    <section aria-labelledby={id}>
      <Title order={3} size="h5" id={id}>
        By receiving site
      </Title>
      <Figures
        caption="Mail by receiving site, most mail first"
        first="Site"
        columns={[delivered, bounced, delayed, p50, p95]}
        rows={rows}
      />
    </section>
  );
}

function Figures(props: { caption: string; first: string; columns: Column[]; rows: [name: string, StatsCounts][] }) {
  const { caption, first, columns, rows } = props;
  return (
    <Scrollable label={caption}>
      <table className="figures">
        <caption className="hidden">{caption}</caption>
        <thead>
          <tr>
            <th scope="col">{first}</th>
            {columns.map(([name]) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, counts]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {columns.map(([column, read]) => (
                <td key={column}>{read(counts)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrollable>
  );
}

/** On a narrow screen the table is wider than the page. It can be focused, so that the keyboard can scroll it. */
function Scrollable({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard (WCAG 2.1.1)
    <section className="scroll" tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}

function formatTime(ms: number | undefined): string {
  return ms === undefined ? "–" : formatDuration(ms);
}
