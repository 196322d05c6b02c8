/**
 * The outcomes over time as stacked bars. Each bar is a link to its emails, and shows its values when it has the pointer or the focus. The bars
 * are one stop of the Tab key; the arrow keys move between them. figures.tsx has the same values as a table.
 */
import { Title } from "@mantine/core";
import { type KeyboardEvent, useId, useRef, useState } from "react";
import type { GetStatsResponse, StatsBucket } from "../../../src/gen/v1/stats_pb.ts";
import { toneStyle } from "../parts/outcome.tsx";
import { CardLink } from "./card-link.tsx";
import { series } from "./counts.ts";
import { emailsBehind } from "./links.ts";
import { bucketEnd, bucketName, type Range, shortName } from "./ranges.ts";
import { countCeiling, formatCompact, formatCount } from "./scale.ts";

export function Chart({ stats, range }: { stats: GetStatsResponse; range: Range }) {
  const id = useId();
  const { buckets, totals, from, to } = stats;
  const [shown, setShown] = useState<number>();
  const [current, setCurrent] = useState(buckets.length - 1);
  const bars = useRef<(HTMLAnchorElement | null)[]>([]);
  const ceiling = countCeiling(buckets.map(sizeOf));
  const starts = buckets.flatMap(({ start }) => (start ? [start] : []));
  const ticks = [starts[0], starts[Math.floor(starts.length / 2)], starts.at(-1)].flatMap((start) => start ?? []);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") setShown(undefined);
    const next = nextIndex(event.key, current, buckets.length);
    if (next === undefined) return;
    event.preventDefault();
    bars.current[next]?.focus();
  };
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
      <div className="bars">
        <div className="axis" aria-hidden="true">
          <span>{formatCompact(ceiling)}</span>
          <span>{ceiling % 2 === 0 && formatCompact(ceiling / 2)}</span>
          <span>0</span>
        </div>
        <ul className="columns" onKeyDown={onKeyDown} onMouseLeave={() => setShown(undefined)} aria-labelledby={id}>
          {buckets.map((bucket, index) => (
            <li key={String(bucket.start?.seconds)}>
              <CardLink
                {...emailsBehind({ from: bucket.start, to: bucket.start && bucketEnd(bucket.start, range) })}
                ref={(element: HTMLAnchorElement | null) => {
                  bars.current[index] = element;
                }}
                className="column"
                tabIndex={index === Math.min(current, buckets.length - 1) ? 0 : -1}
                data-shown={shown === index || undefined}
                aria-label={labelOf(bucket, range)}
                onMouseEnter={() => setShown(index)}
                onFocus={() => {
                  setCurrent(index);
                  setShown(index);
                }}
                onBlur={() => setShown(undefined)}
              >
                {[...series].reverse().map(({ tone, read }) => {
                  const value = bucket.counts ? read(bucket.counts) : 0;
                  return value > 0 ? (
                    <i key={tone} style={{ ...toneStyle(tone), height: `${(value / ceiling) * 100}%` }} />
                  ) : null;
                })}
              </CardLink>
            </li>
          ))}
        </ul>
        <div className="times" aria-hidden="true">
          {ticks.map((tick) => (
            <span key={String(tick.seconds)}>{shortName(tick, range)}</span>
          ))}
        </div>
        {shown !== undefined && buckets[shown] && (
          <Tip bucket={buckets[shown]} range={range} place={(shown + 0.5) / buckets.length} />
        )}
      </div>
    </figure>
  );
}

/** The link has the same values as its name, so this is hidden from screen readers. */
function Tip({ bucket, range, place }: { bucket: StatsBucket; range: Range; place: number }) {
  // To the right of bars in the left half, and the other way round. The axis is 48 px wide.
  const isLeft = place < 0.5;
  const edge = isLeft ? `calc(48px + (100% - 48px) * ${place} + 24px)` : `calc((100% - 48px) * ${1 - place} + 24px)`;
  return (
    <div
      className="chart-tip"
      aria-hidden="true"
      style={isLeft ? { insetInlineStart: edge } : { insetInlineEnd: edge }}
    >
      <strong>{bucket.start && bucketName(bucket.start, range)}</strong>
      <dl>
        {series.map(({ tone, name, read }) => (
          <div key={tone} style={{ display: "contents", ...toneStyle(tone) }}>
            <dt>
              <span className="swatch" />
              {name}
            </dt>
            <dd>{bucket.counts ? formatCount(read(bucket.counts)) : 0}</dd>
          </div>
        ))}
        <dt>Accepted</dt>
        <dd>{formatCount(bucket.counts?.accepted ?? 0)}</dd>
      </dl>
    </div>
  );
}

function labelOf({ start, counts }: StatsBucket, range: Range): string {
  const values = counts ? series.map(({ name, read }) => `${name} ${formatCount(read(counts))}`) : [];
  return `${start ? bucketName(start, range) : ""}: ${values.join(", ")}. Show emails`;
}

function sizeOf({ counts }: StatsBucket): number {
  return counts ? series.reduce((sum, { read }) => sum + read(counts), 0) : 0;
}

function nextIndex(key: string, current: number, length: number): number | undefined {
  const moves: Record<string, number> = { ArrowLeft: current - 1, ArrowRight: current + 1, Home: 0, End: length - 1 };
  const next = moves[key];
  return next === undefined ? undefined : Math.max(0, Math.min(length - 1, next));
}
