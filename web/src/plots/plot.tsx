/** A small plot over time: a legend in words, an axis, and bars or lines that stretch with the page. Its figures stand in a table elsewhere. */
import { Group, Stack, Text, Title } from "@mantine/core";
import { type ReactNode, useId } from "react";
import { line } from "./scale.ts";

/** How a series is drawn; each differs in its shape too, and not by colour alone. */
export type Look = "accepted" | "delivered" | "bounced" | "delayed" | "complained" | "half" | "most";

export interface Series {
  look: Look;
  name: string;
  /** What the legend says beside the name. */
  total: string;
  /** One for each bucket; nothing where there is nothing to say. */
  values: readonly (number | undefined)[];
}

export interface PlotProps {
  title: string;
  series: readonly Series[];
  /** The value at the top of the axis. */
  ceiling: number;
  say(value: number): string;
  /** What the buckets are called, for who points at one. */
  labels: readonly string[];
  /** The names at the beginning, the middle and the end of the axis of time. */
  ends: readonly string[];
}

export function BarPlot(props: PlotProps) {
  const { series, ceiling } = props;
  const width = 0.8 / series.length;
  return (
    <Frame {...props}>
      {series.map(({ look, values }, place) => (
        <g key={look} className={`look-${look}`}>
          {values.map((value, bucket) => {
            // However little it is, it can be seen.
            const height = value ? Math.max(value / ceiling, 0.02) : 0;
            const x = bucket + 0.1 + place * width;
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
      {props.series.map(({ look, values }) => (
        <path key={look} className={`look-${look}`} d={line(values, props.ceiling)} />
      ))}
    </Frame>
  );
}

function Frame({ title, series, ceiling, say, labels, ends, children }: PlotProps & { children: ReactNode }) {
  const id = useId();
  return (
    <Stack gap="xs" component="figure" className="plot" aria-labelledby={id}>
      <Title order={3} size="h5" id={id}>
        {title}
      </Title>
      <Group component="ul" className="list legend">
        {series.map(({ look, name, total }) => (
          <Group component="li" key={look} gap={6} wrap="nowrap">
            <svg className={`swatch look-${look}`} viewBox="0 0 16 12" aria-hidden="true">
              {look === "half" || look === "most" ? (
                <path d="M1 6L15 6" />
              ) : (
                <rect x={1} y={1} width={14} height={10} />
              )}
            </svg>
            <Text size="sm">
              {name} <strong>{total}</strong>
            </Text>
          </Group>
        ))}
      </Group>
      <div className="plot-area">
        <Text className="plot-axis" size="xs" c="dimmed" component="div" aria-hidden="true">
          <span>{say(ceiling)}</span>
          <span>0</span>
        </Text>
        <svg
          viewBox={`0 0 ${labels.length} 1`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${title}: ${series.map(({ name, total }) => `${name} ${total}`).join(", ")}. The table below has the figures.`}
        >
          {children}
          {labels.map((label, bucket) => (
            <rect key={label} className="plot-pointed" x={bucket} y={0} width={1} height={1}>
              <title>{[label, ...series.map((one) => pointed(one, bucket, say))].join("\n")}</title>
            </rect>
          ))}
        </svg>
        <Text className="plot-times" size="xs" c="dimmed" component="div" aria-hidden="true">
          {ends.map((end) => (
            <span key={end}>{end}</span>
          ))}
        </Text>
      </div>
    </Stack>
  );
}

function pointed({ name, values }: Series, bucket: number, say: (value: number) => string): string {
  const value = values[bucket];
  return `${name}: ${value === undefined ? "none" : say(value)}`;
}
