/** The insight table: delivered, bounces and complaints by receiver, domain, key or metadata, next to their limits. */
import { Title, UnstyledButton } from "@mantine/core";
import { useId } from "react";
import { type GetStatsResponse, StatsDimension, type StatsGroup } from "../../../src/gen/v1/stats_pb.ts";
import { AnchorLink } from "../parts/links.tsx";
import { Loading } from "../parts/states.tsx";
import { deliveredIn } from "./counts.ts";
import { type Dimension, groupFilter, groupName } from "./dimensions.ts";
import { formatTime, NumberLink, Scrollable } from "./figures.tsx";
import { type Behind, emailsBehind } from "./links.ts";
import { formatCount, formatRate } from "./scale.ts";

export function GroupsCard(props: {
  stats: GetStatsResponse;
  /** False while the groups of another dimension are shown. */
  isCurrent: boolean;
  dimension: Dimension;
  dimensions: readonly Dimension[];
  onSelect(id: string): void;
}) {
  const { stats, dimension, dimensions } = props;
  const id = useId();
  return (
    <section className="card" aria-labelledby={id}>
      <div className="pane-head">
        <Title order={2} id={id}>
          Insight
        </Title>
        <fieldset className="chips plain">
          <legend className="hidden">Group by</legend>
          {dimensions.map((one) => (
            <UnstyledButton
              key={one.id}
              className="chip"
              aria-pressed={one.id === dimension.id}
              onClick={() => props.onSelect(one.id)}
            >
              {one.name}
            </UnstyledButton>
          ))}
        </fieldset>
      </div>
      {props.isCurrent ? (
        <Groups stats={stats} dimension={dimension} />
      ) : (
        <Loading what="the groups" rows={4} height={40} />
      )}
    </section>
  );
}

function Groups({ stats, dimension }: { stats: GetStatsResponse; dimension: Dimension }) {
  const isSite = dimension.groupBy === StatsDimension.SITE;
  if (stats.groups.length === 0)
    return <p className="pane-empty faint">{isSite ? "No receiver has answered yet." : "No mail is counted yet."}</p>;
  const caption = `Mail by ${dimension.column}, most mail first`;
  return (
    <Scrollable label={caption}>
      <table className="table">
        <caption className="hidden">{caption}</caption>
        <thead>
          <tr>
            <th scope="col">{dimension.column}</th>
            <th scope="col" className="end">
              Delivered
            </th>
            <th scope="col" className="end">
              Bounced
            </th>
            <th scope="col" className="end">
              Complaints
            </th>
            {isSite && (
              <th scope="col" className="end">
                p95
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {stats.groups.map((group) => (
            <GroupRow key={`${group.other} ${group.value}`} group={group} stats={stats} dimension={dimension} />
          ))}
        </tbody>
      </table>
    </Scrollable>
  );
}

function GroupRow({ group, stats, dimension }: { group: StatsGroup; stats: GetStatsResponse; dimension: Dimension }) {
  const { counts } = group;
  const { limits, from, to } = stats;
  if (!counts || !limits) return null;
  const filter = groupFilter(group, dimension);
  const cell = (count: number, text: string, outcome: Behind["outcome"]) =>
    filter ? <NumberLink count={count} text={text} behind={{ ...filter, from, to, outcome }} /> : text;
  const delivered = deliveredIn(counts);
  const name = groupName(group, dimension);
  return (
    <tr>
      <th scope="row" className="cut" title={group.value}>
        {filter ? (
          <AnchorLink {...emailsBehind({ ...filter, from, to })} inherit>
            {name}
          </AnchorLink>
        ) : (
          name
        )}
      </th>
      <td className="end">{cell(delivered, formatCount(delivered), "delivered,sent")}</td>
      <td className={overClass(counts.bounceRate, limits.bounceLimit)}>
        {cell(counts.bounced, formatRate(counts.bounceRate), "bounced")}
      </td>
      <td className={overClass(counts.complaintRate, limits.complaintLimit)}>
        {cell(counts.complained, formatRate(counts.complaintRate), "complained")}
      </td>
      {dimension.groupBy === StatsDimension.SITE && (
        <td className="end">{cell(delivered, formatTime(counts.deliveryP95Ms), "delivered,sent")}</td>
      )}
    </tr>
  );
}

function overClass(rate: number | undefined, limit: number): string {
  return rate !== undefined && rate > limit ? "end over" : "end";
}
