/** Who sends in the name of a domain: totals, messages per day, and the table of sources. */
import { Title } from "@mantine/core";
import { type ReactNode, useId } from "react";
import { type Domain, RecordStatus } from "../../../src/gen/v1/domain_pb.ts";
import type { DmarcDay, GetDmarcSummaryResponse } from "../../../src/gen/v1/report_pb.ts";
import { Copyable } from "../parts/copy-button.tsx";
import { type Tone, toneStyle } from "../parts/outcome.tsx";
import { Empty } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { formatCount, formatRate } from "../stats/scale.ts";
import { DayChart, type Series } from "./day-chart.tsx";
import type { Range, ReportSearch } from "./range.ts";
import { SourceList } from "./source-list.tsx";
import { alignedRate, treatmentText } from "./sources.ts";

const series: readonly Series<DmarcDay>[] = [
  { tone: "delivered", name: "Aligned", read: ({ counts }) => counts?.aligned ?? 0 },
  { tone: "bounced", name: "Not aligned", read: ({ counts }) => (counts ? counts.messages - counts.aligned : 0) },
];

export function Senders(props: {
  summary: GetDmarcSummaryResponse;
  /** False while the counts of another range are shown. */
  isCurrent: boolean;
  domain: Domain;
  range: Range;
  search: ReportSearch;
  onChange(part: ReportSearch): void;
}) {
  const { summary, isCurrent, domain, range, search, onChange } = props;
  const id = useId();
  const { total, days, lastReportAt } = summary;
  if (!lastReportAt) return <NoReports summary={summary} domain={domain} />;
  return (
    <section className="card report-part" aria-labelledby={id}>
      <div className="head">
        <Title order={2} id={id}>
          Who sends as {domain.domain}
        </Title>
        <span className="grow" />
        <span className="small faint">
          Last report <Time at={lastReportAt} />. Days are UTC.
        </span>
      </div>
      {!total || total.messages === 0 ? (
        <p className="report-note">
          No mail was reported in the {range.words}. Choose a longer time range, or wait: receivers report once a day
          about mail that they received.
        </p>
      ) : (
        <div className="figures" aria-busy={!isCurrent} inert={!isCurrent}>
          <Totals summary={summary} />
          <DayChart key={range.id} title="Messages per day" {...{ days, series, search }} domainId={domain.id} />
          <SourceList domain={domain} range={range} search={search} onChange={onChange} />
        </div>
      )}
    </section>
  );
}

function Totals({ summary: { total, sources, reporters } }: { summary: GetDmarcSummaryResponse }) {
  if (!total) return null;
  const failed = total.messages - total.aligned;
  return (
    <dl className="totals" aria-label="Totals">
      <Total name="Messages" value={formatCount(total.messages)}>
        reported by {counted(reporters, "organization")}
      </Total>
      <Total name="Aligned" value={formatRate(alignedRate(total))} tone={failed > 0 ? "delayed" : "delivered"}>
        DKIM {formatRate(total.messages > 0 ? total.dkimAligned / total.messages : undefined)}, SPF{" "}
        {formatRate(total.messages > 0 ? total.spfAligned / total.messages : undefined)}
      </Total>
      <Total name="Not aligned" value={formatCount(failed)} tone={failed > 0 ? "bounced" : "delivered"}>
        {failed > 0 ? "messages that failed DMARC" : "nothing failed DMARC"}
      </Total>
      <Total name="Sources" value={formatCount(sources)}>
        {treatmentText(total).toLowerCase()}
      </Total>
    </dl>
  );
}

function Total(props: { name: string; value: string; tone?: Tone; children: ReactNode }) {
  return (
    <div style={props.tone && toneStyle(props.tone)}>
      <dt>{props.name}</dt>
      <dd>
        <b>{props.value}</b>
        <span className="small faint">{props.children}</span>
      </dd>
    </div>
  );
}

function NoReports({ summary, domain }: { summary: GetDmarcSummaryResponse; domain: Domain }) {
  return (
    <Empty title="No DMARC reports yet">
      Receivers such as Gmail, Yahoo and Microsoft report once a day who sent mail as {domain.domain} and whether it
      passed DMARC. They send the reports to{" "}
      {summary.reportAddress === "" ? (
        "the address in the suggested DMARC record"
      ) : (
        <Copyable value={summary.reportAddress} name="the report address" />
      )}
      , if the DMARC record names it
      {hasDkim(domain)
        ? ". There is nothing else to set up."
        : " and one of the domain's DKIM records is in place. There is nothing else to set up."}{" "}
      The first report usually arrives within two days of the first email.
    </Empty>
  );
}

/** Posthorn agrees to reports about a domain only once a DKIM record proves that its owner wants them. */
function hasDkim({ records }: Domain): boolean {
  return records?.dkimRecords.some(({ status }) => status === RecordStatus.FOUND) ?? false;
}

function counted(number: number, noun: string): string {
  return `${formatCount(number)} ${noun}${number === 1 ? "" : "s"}`;
}
