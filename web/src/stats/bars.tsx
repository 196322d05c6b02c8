/**
 * Stacked bars over time. Each bar is a link, and shows its values when it has the pointer or the focus. The bars are one stop of the Tab key;
 * the arrow keys move between them. chart.tsx and the charts of reports use it.
 */
import type { LinkProps } from "@tanstack/react-router";
import { type KeyboardEvent, useRef, useState } from "react";
import { type Tone, toneStyle } from "../parts/outcome.tsx";
import { CardLink } from "./card-link.tsx";
import { countCeiling, formatCompact, formatCount } from "./scale.ts";

export type Bar = {
  key: string;
  /** Its time. */
  name: string;
  /** Its time in short, for the axis. */
  shortName: string;
  /** What the link does, for screen readers: "Show emails". */
  action: string;
  link: LinkProps;
  /** From the bottom of the bar to its top. */
  parts: readonly { tone: Tone; name: string; value: number }[];
  /** A value that is not part of the bar. */
  also?: { name: string; value: number };
  /** True: the page shows what this bar stands for. */
  isChosen?: boolean;
};

export function Bars({ bars, labelledBy }: { bars: readonly Bar[]; labelledBy: string }) {
  const [shown, setShown] = useState<number>();
  const [current, setCurrent] = useState(bars.length - 1);
  const links = useRef<(HTMLAnchorElement | null)[]>([]);
  const ceiling = countCeiling(bars.map(sizeOf));
  const ticks = [bars[0], bars[Math.floor(bars.length / 2)], bars.at(-1)].flatMap((bar) => bar ?? []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") setShown(undefined);
    const next = nextIndex(event.key, current, bars.length);
    if (next === undefined) return;
    event.preventDefault();
    links.current[next]?.focus();
  };
  return (
    <div className="bars">
      <div className="axis" aria-hidden="true">
        <span>{formatCompact(ceiling)}</span>
        <span>{ceiling % 2 === 0 && formatCompact(ceiling / 2)}</span>
        <span>0</span>
      </div>
      <ul
        className="columns"
        onKeyDown={onKeyDown}
        onMouseLeave={() => setShown(undefined)}
        aria-labelledby={labelledBy}
      >
        {bars.map((bar, index) => (
          <li key={bar.key}>
            <CardLink
              {...bar.link}
              ref={(element: HTMLAnchorElement | null) => {
                links.current[index] = element;
              }}
              className="column"
              tabIndex={index === Math.min(current, bars.length - 1) ? 0 : -1}
              data-shown={shown === index || bar.isChosen || undefined}
              aria-label={labelOf(bar)}
              onMouseEnter={() => setShown(index)}
              onFocus={() => {
                setCurrent(index);
                setShown(index);
              }}
              onBlur={() => setShown(undefined)}
            >
              {[...bar.parts]
                .reverse()
                .map(({ tone, name, value }) =>
                  value > 0 ? (
                    <i key={name} style={{ ...toneStyle(tone), height: `${(value / ceiling) * 100}%` }} />
                  ) : null,
                )}
            </CardLink>
          </li>
        ))}
      </ul>
      <div className="times" aria-hidden="true">
        {ticks.map(({ key, shortName }) => (
          <span key={key}>{shortName}</span>
        ))}
      </div>
      {shown !== undefined && bars[shown] && <Tip bar={bars[shown]} place={(shown + 0.5) / bars.length} />}
    </div>
  );
}

/** The link has the same values as its name, so this is hidden from screen readers. */
function Tip({ bar, place }: { bar: Bar; place: number }) {
  // To the right of bars in the left half, and the other way round. The axis is 48 px wide.
  const isLeft = place < 0.5;
  const edge = isLeft ? `calc(48px + (100% - 48px) * ${place} + 24px)` : `calc((100% - 48px) * ${1 - place} + 24px)`;
  return (
    <div
      className="chart-tip"
      aria-hidden="true"
      style={isLeft ? { insetInlineStart: edge } : { insetInlineEnd: edge }}
    >
      <strong>{bar.name}</strong>
      <dl>
        {bar.parts.map(({ tone, name, value }) => (
          <div key={name} style={{ display: "contents", ...toneStyle(tone) }}>
            <dt>
              <span className="swatch" />
              {name}
            </dt>
            <dd>{formatCount(value)}</dd>
          </div>
        ))}
        {bar.also && (
          <>
            <dt>{bar.also.name}</dt>
            <dd>{formatCount(bar.also.value)}</dd>
          </>
        )}
      </dl>
    </div>
  );
}

function labelOf({ name, parts, action }: Bar): string {
  return `${name}: ${parts.map((part) => `${part.name} ${formatCount(part.value)}`).join(", ")}. ${action}`;
}

function sizeOf({ parts }: Bar): number {
  return parts.reduce((sum, { value }) => sum + value, 0);
}

function nextIndex(key: string, current: number, length: number): number | undefined {
  const moves: Record<string, number> = { ArrowLeft: current - 1, ArrowRight: current + 1, Home: 0, End: length - 1 };
  const next = moves[key];
  return next === undefined ? undefined : Math.max(0, Math.min(length - 1, next));
}
