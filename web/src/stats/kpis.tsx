/** The four figures of the overview: delivered, bounce rate, complaint rate and delivery time, each next to its limit and linked to its emails. */
import type { GetStatsResponse } from "../../../src/gen/v1/stats_pb.ts";
import { type Tone, toneStyle } from "../parts/outcome.tsx";
import { CardLink } from "./card-link.tsx";
import { deliveredIn } from "./counts.ts";
import { type Behind, emailsBehind } from "./links.ts";
import { formatCount, formatDuration, formatRate, meterScale } from "./scale.ts";

export function Kpis({ stats: { totals, limits, from, to } }: { stats: GetStatsResponse }) {
  if (!totals || !limits) return null;
  const delivered = deliveredIn(totals);
  const finished = delivered + totals.bounced + totals.failed;
  const behind = (outcome: Behind["outcome"]) => emailsBehind({ from, to, outcome });
  return (
    <section className="kpis" aria-label="Figures">
      <Kpi name="Delivered" value={formatRate(totals.deliveredRate)} tone="delivered" link={behind("delivered,sent")}>
        <Note>
          {formatCount(delivered)} of {formatCount(finished)} finished
        </Note>
        <Meter rate={totals.deliveredRate} />
      </Kpi>
      <Kpi name="Bounce rate" value={formatRate(totals.bounceRate)} tone="bounced" link={behind("bounced")}>
        <LimitNote rate={totals.bounceRate} target={limits.bounceTarget} limit={limits.bounceLimit} who="Limit" />
        <Meter rate={totals.bounceRate} limit={limits.bounceLimit} />
      </Kpi>
      <Kpi name="Complaint rate" value={formatRate(totals.complaintRate)} tone="complained" link={behind("complained")}>
        <LimitNote
          rate={totals.complaintRate}
          target={limits.complaintTarget}
          limit={limits.complaintLimit}
          who="Gmail and Yahoo: limit"
        />
        <Meter rate={totals.complaintRate} limit={limits.complaintLimit} />
      </Kpi>
      <Kpi
        name="Median delivery"
        value={totals.deliveryP50Ms === undefined ? "–" : formatDuration(totals.deliveryP50Ms)}
        tone="queued"
        link={behind(undefined)}
      >
        <Note>
          {totals.deliveryP95Ms === undefined ? "nothing delivered" : `p95 ${formatDuration(totals.deliveryP95Ms)}`},{" "}
          {formatCount(totals.delayed)} {totals.delayed === 1 ? "delay" : "delays"}
        </Note>
      </Kpi>
    </section>
  );
}

function Kpi(props: {
  name: string;
  value: string;
  tone: Tone;
  link: ReturnType<typeof emailsBehind>;
  children: React.ReactNode;
}) {
  return (
    <CardLink {...props.link} className="card kpi" style={toneStyle(props.tone)}>
      <span className="small faint">{props.name}</span>
      <b>{props.value}</b>
      {props.children}
    </CardLink>
  );
}

function Note({ children }: { children: React.ReactNode }) {
  return <span className="small faint">{children}</span>;
}

function LimitNote(props: { rate: number | undefined; target: number; limit: number; who: string }) {
  const { rate = 0, target, limit, who } = props;
  if (rate > limit) return <span className="small over">above the limit of {formatRate(limit)}</span>;
  if (rate > target) return <Note>{`above the target of ${formatRate(target)}, limit ${formatRate(limit)}`}</Note>;
  return <Note>{`${who} ${formatRate(limit)}`}</Note>;
}

/** The text next to it has the same values, so it is hidden from screen readers. */
function Meter({ rate = 0, limit }: { rate: number | undefined; limit?: number }) {
  const { length, limitAt } =
    limit === undefined ? { length: rate * 100, limitAt: undefined } : meterScale(rate, limit);
  return (
    <span className="meter" aria-hidden="true" style={{ display: "block" }}>
      {rate > 0 && <i style={{ width: `${length}%` }} />}
      {limitAt !== undefined && <u style={{ insetInlineStart: `${limitAt}%` }} />}
    </span>
  );
}
