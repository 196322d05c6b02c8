/** The outcomes over time as stacked bars. Each bar is a link to its emails. figures.tsx has the same values as a table. */
import { Title } from "@mantine/core";
import { useId } from "react";
import type { GetStatsResponse, StatsBucket } from "../../../src/gen/v1/stats_pb.ts";
import { toneStyle } from "../parts/outcome.tsx";
import { type Bar, Bars } from "./bars.tsx";
import { CardLink } from "./card-link.tsx";
import { series } from "./counts.ts";
import { emailsBehind } from "./links.ts";
import { bucketEnd, bucketName, type Range, shortName } from "./ranges.ts";
import { formatCount } from "./scale.ts";

export function Chart({ stats, range }: { stats: GetStatsResponse; range: Range }) {
  const id = useId();
  const { buckets, totals, from, to } = stats;
  return (
    <figure className="card chart" aria-labelledby={id}>
      <div className="head">
        <Title order={2} id={id}>
          Recipients by outcome
        </Title>
        <span className="grow" />
        <ul className="legend">
          {series.map(({ outcome, tone, name, read }) => (
            <li key={tone} style={toneStyle(tone)}>
              <CardLink {...emailsBehind({ from, to, outcome })}>
                <span className="swatch" aria-hidden="true" />
                {name} {totals && formatCount(read(totals))}
              </CardLink>
            </li>
          ))}
        </ul>
      </div>
      <Bars bars={buckets.map((bucket) => barOf(bucket, range))} labelledBy={id} />
    </figure>
  );
}

function barOf({ start, counts }: StatsBucket, range: Range): Bar {
  return {
    key: String(start?.seconds),
    name: start ? bucketName(start, range) : "",
    shortName: start ? shortName(start, range) : "",
    action: "Show emails",
    link: emailsBehind({ from: start, to: start && bucketEnd(start, range) }),
    parts: series.map(({ tone, name, read }) => ({ tone, name, value: counts ? read(counts) : 0 })),
    also: { name: "Accepted", value: counts?.accepted ?? 0 },
  };
}
