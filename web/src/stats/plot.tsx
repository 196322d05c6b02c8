/** Bar and line plots over time, with a legend and an axis. They scale with the page. figures.tsx shows the same values as a table. */
import { Group, Stack, Text, Title } from "@mantine/core";
import { type ReactNode, useId } from "react";
import { line } from "./scale.ts";

/** Selects the style of a series in main.css. Styles differ in fill or dash, not only in color. */
export type SeriesKind = "accepted" | "delivered" | "bounced" | "delayed" | "complained" | "p50" | "p95";

export interface Series {
  kind: SeriesKind;
  name: string;
  /** The text next to the name in the legend. */
  total: string;
  /** One value per bucket; undefined without data. */
  values: readonly (number | undefined)[];
}

export interface PlotProps {
  title: string;
  series: readonly Series[];
  /** The value at the top of the axis. */
  ceiling: number;
  format(value: number): string;
  /** The names of the buckets, for tooltips. */
  labels: readonly string[];
  /** The labels at the start, the middle and the end of the time axis. */
  ticks: readonly string[];
}

export function BarPlot(props: PlotProps) {
  const { series, ceiling } = props;
  const width = 0.8 / series.length;
  return (
    <Frame {...props}>
      {series.map(({ kind, values }, index) => (
        <g key={kind} className={`series-${kind}`}>
          {values.map((value, bucket) => {
            // A minimum height keeps small values visible.
            const height = value ? Math.max(value / ceiling, 0.02) : 0;
            const x = bucket + 0.1 + index * width;
            return height > 0 && <rect key={x} x={x} y={1 - height} width={width} height={height} />;
          })}
        </g>
      ))}
    </Frame>
  );
}

export function LinePlot(props: PlotProps) {
  return (
    <Frame {...props}>
      {props.series.map(({ kind, values }) => (
        <path key={kind} className={`series-${kind}`} d={line(values, props.ceiling)} />
      ))}
    </Frame>
  );
}

function Frame({ title, series, ceiling, format, labels, ticks, children }: PlotProps & { children: ReactNode }) {
  const id = useId();
  return (
    <Stack gap="xs" component="figure" className="plot" aria-labelledby={id}>
      <Title order={3} size="h5" id={id}>
        {title}
      </Title>
      <Group component="ul" className="list legend">
        {series.map(({ kind, name, total }) => (
          <Group component="li" key={kind} gap={6} wrap="nowrap">
            <svg className={`swatch series-${kind}`} viewBox="0 0 16 12" aria-hidden="true">
              {kind === "p50" || kind === "p95" ? <path d="M1 6L15 6" /> : <rect x={1} y={1} width={14} height={10} />}
            </svg>
            <Text size="sm">
              {name} <strong>{total}</strong>
            </Text>
          </Group>
        ))}
      </Group>
      <div className="plot-area">
        <Text className="plot-axis" size="xs" c="dimmed" component="div" aria-hidden="true">
          <span>{format(ceiling)}</span>
          <span>0</span>
        </Text>
        <svg
          viewBox={`0 0 ${labels.length} 1`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${title}: ${series.map(({ name, total }) => `${name} ${total}`).join(", ")}. The table below has all values.`}
        >
          {children}
          {labels.map((label, bucket) => (
            <rect key={label} className="plot-hover" x={bucket} y={0} width={1} height={1}>
              <title>{[label, ...series.map((one) => tooltipLine(one, bucket, format))].join("\n")}</title>
            </rect>
          ))}
        </svg>
        <Text className="plot-times" size="xs" c="dimmed" component="div" aria-hidden="true">
          {ticks.map((tick) => (
            <span key={tick}>{tick}</span>
          ))}
        </Text>
      </div>
    </Stack>
  );
}

function tooltipLine({ name, values }: Series, bucket: number, format: (value: number) => string): string {
  const value = values[bucket];
  return `${name}: ${value === undefined ? "none" : format(value)}`;
}
