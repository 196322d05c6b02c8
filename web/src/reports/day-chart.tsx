/** Counts per day as stacked bars. Each bar is a link that shows only its day, or all days again. */
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { Title } from "@mantine/core";
import { useId } from "react";
import { type Tone, toneStyle } from "../parts/outcome.tsx";
import { type Bar, Bars } from "../stats/bars.tsx";
import { Scrollable } from "../stats/figures.tsx";
import { formatCount } from "../stats/scale.ts";
import { dayName, dayOf, type ReportSearch } from "./range.ts";

export type Series<Day> = { tone: Tone; name: string; read(day: Day): number };

export function DayChart<Day extends { start?: Timestamp }>(props: {
  title: string;
  days: readonly Day[];
  series: readonly Series<Day>[];
  domainId: string;
  search: ReportSearch;
}) {
  const { title, days, series, domainId, search } = props;
  const id = useId();
  const now = Date.now();
  const dated = days.flatMap((day) => (day.start ? [{ day, start: day.start, id: dayOf(day.start) }] : []));
  const bars = dated.map(({ day, start, id }): Bar => {
    const isChosen = id === search.day;
    return {
      key: id,
      name: dayName(start, now),
      shortName: dayName(start, now),
      action: isChosen ? "Show all days" : "Show only this day",
      link: {
        to: "/domains/$id/reports",
        params: { id: domainId },
        search: { ...search, day: isChosen ? undefined : id },
        resetScroll: false,
        replace: true,
      },
      parts: series.map(({ tone, name, read }) => ({ tone, name, value: read(day) })),
      isChosen,
    };
  });
  return (
    <figure className="chart" aria-labelledby={id}>
      <div className="head">
        <Title order={3} id={id}>
          {title}
        </Title>
        <span className="grow" />
        <ul className="legend">
          {series.map(({ tone, name, read }) => (
            <li key={name} className="legend-entry" style={toneStyle(tone)}>
              <span className="swatch" aria-hidden="true" />
              {name} {formatCount(days.reduce((sum, day) => sum + read(day), 0))}
            </li>
          ))}
        </ul>
      </div>
      <Bars bars={bars} labelledBy={id} />
      <details className="more small">
        <summary>Show as table</summary>
        <Scrollable label={title}>
          <table className="table">
            <caption className="hidden">{title}</caption>
            <thead>
              <tr>
                <th scope="col">Day</th>
                {series.map(({ name }) => (
                  <th key={name} scope="col" className="end">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {[...dated].reverse().map(({ day, start, id }) => (
                <tr key={id}>
                  <th scope="row">{dayName(start, now)}</th>
                  {series.map(({ name, read }) => (
                    <td key={name} className="end">
                      {formatCount(read(day))}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Scrollable>
      </details>
    </figure>
  );
}
