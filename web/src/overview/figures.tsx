/** The figures behind the plots as tables: for screen readers, for exact numbers, and by receiving site. */
import { Title } from "@mantine/core";
import { type ReactNode, useId } from "react";
import type { GetStatsResponse, StatsCounts } from "../../../src/gen/v1/stats_pb.ts";
import { sayCount, sayDuration } from "../plots/scale.ts";
import { deliveredIn } from "./plots.tsx";
import { bucketName, type Range } from "./ranges.ts";

type Column = [name: string, read: (counts: StatsCounts) => string];

const accepted: Column = ["Accepted", (counts) => sayCount(counts.accepted)];
const complaints: Column = ["Complaints", (counts) => sayCount(counts.complained)];
const delivered: Column = ["Delivered", (counts) => sayCount(deliveredIn(counts))];
const bounced: Column = ["Bounced", (counts) => sayCount(counts.bounced)];
const delayed: Column = ["Delayed", (counts) => sayCount(counts.delayed)];
const half: Column = ["Half within", (counts) => timeIn(counts.deliveryP50Ms)];
const most: Column = ["95% within", (counts) => timeIn(counts.deliveryP95Ms)];

export function FiguresTable({ stats, range }: { stats: GetStatsResponse; range: Range }) {
  const rows = stats.buckets.flatMap(({ start, counts }): [string, StatsCounts][] =>
    start && counts ? [[bucketName(start, range), counts]] : [],
  );
  return (
    <details className="more">
      <summary>The same as a table</summary>
      <Figures
        caption={`Mail of the last ${range.words}`}
        first="From"
        columns={[accepted, delivered, bounced, delayed, complaints, half, most]}
        // The newest first: nobody scrolls for what happened just now.
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
        caption="Mail by receiving site, the one with the most first"
        first="Site"
        columns={[delivered, bounced, delayed, half, most]}
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

/** On a narrow screen the table is wider than the page: the keyboard must be able to move it. */
function Scrollable({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (WCAG 2.1.1)
    <section className="scroll" tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}

function timeIn(ms: number | undefined): string {
  return ms === undefined ? "–" : sayDuration(ms);
}
