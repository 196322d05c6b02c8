/** Which senders reached the mail servers of a domain with TLS: sessions per day, and what failed. */
import { useQuery } from "@connectrpc/connect-query";
import { Title } from "@mantine/core";
import { keepPreviousData } from "@tanstack/react-query";
import { useId } from "react";
import type { Domain } from "../../../src/gen/v1/domain_pb.ts";
import { type GetTlsSummaryResponse, ReportService, type TlsFailure } from "../../../src/gen/v1/report_pb.ts";
import { Mark } from "../parts/outcome.tsx";
import { Fact, Facts } from "../parts/page.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { formatCount } from "../stats/scale.ts";
import { Day } from "./day.tsx";
import { DayChart } from "./day-chart.tsx";
import { dayName, type Range, type ReportSearch, requestOf, spanOf } from "./range.ts";
import { RecordToPublish } from "./record-to-publish.tsx";
import { policyName, sessionsIn, tlsSeries } from "./tls.ts";

type Props = { domain: Domain; range: Range; search: ReportSearch };

export function TlsReports({ domain, range, search }: Props) {
  const id = useId();
  const whole = { domainId: domain.id, ...requestOf(range, Date.now()) };
  const query = useQuery(ReportService.method.getTlsSummary, whole, {
    refetchInterval: 60_000,
    placeholderData: keepPreviousData,
  });
  return (
    <section className="card report-part" aria-labelledby={id}>
      <div className="head">
        <Title order={2} id={id}>
          TLS to your mail servers
        </Title>
        <span className="grow" />
        {query.data?.lastReportAt && (
          <span className="small faint">
            Last report <Time at={query.data.lastReportAt} />
          </span>
        )}
      </div>
      {query.isPending && <Loading what="the TLS reports" rows={3} height={40} />}
      {query.error && !query.data && <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />}
      {query.data &&
        (query.data.lastReportAt ? (
          <Sessions summary={query.data} domain={domain} range={range} search={search} />
        ) : (
          <NoReports summary={query.data} domain={domain} />
        ))}
    </section>
  );
}

function Sessions({ summary, domain, range, search }: Props & { summary: GetTlsSummaryResponse }) {
  const { total, unauthenticated, days } = summary;
  if (sessionsIn(total) + sessionsIn(unauthenticated) === 0)
    return <p className="report-note">No session was reported in the {range.words}.</p>;
  return (
    <>
      <DayChart
        key={range.id}
        title="Sessions per day"
        days={days}
        series={tlsSeries}
        domainId={domain.id}
        search={search}
      />
      {sessionsIn(unauthenticated) > 0 && (
        <p className="report-note">
          <Mark tone="canceled">Unauthenticated</Mark> {formatCount(unauthenticated!.succeeded)} encrypted and{" "}
          {formatCount(unauthenticated!.failed)} failed sessions are from reports that nothing proves: anyone can write
          one. Compare them with authenticated reports before you act on them.
        </p>
      )}
      <Failures summary={summary} domain={domain} range={range} search={search} />
    </>
  );
}

/** Those of one day are asked for separately, so that the chart keeps all days. */
function Failures({ summary, domain, range, search }: Props & { summary: GetTlsSummaryResponse }) {
  const day = search.day === undefined ? undefined : spanOf(search.day);
  const query = useQuery(
    ReportService.method.getTlsSummary,
    { domainId: domain.id, ...(day ?? {}) },
    { enabled: day !== undefined },
  );
  const when = day ? `on ${dayName(day.from, Date.now())}` : `in the ${range.words}`;
  if (day && query.isPending) return <Loading what="the failures of the day" rows={2} height={40} />;
  if (day && !query.data) return <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />;
  const { failures } = (day && query.data) || summary;
  if (failures.length === 0) return <p className="report-note">No failure was reported {when}.</p>;
  return (
    <div className="report-list">
      <Title order={3}>Failures {when}</Title>
      <ul className="list failures" aria-label={`Failures ${when}, the most frequent first`}>
        {failures.map((failure) => (
          <li key={keyOf(failure)}>
            <Failure failure={failure} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function Failure({ failure }: { failure: TlsFailure }) {
  const { resultType, explanation, organization, sessions, authenticated, lastSeenAt } = failure;
  return (
    <details>
      <summary className="row">
        <Mark tone={authenticated ? "bounced" : "canceled"}>{authenticated ? "Failed" : "Unauthenticated"}</Mark>
        <span className="middle wrap">
          <strong className="mono">{resultType}</strong> <span className="faint">reported by</span>{" "}
          <bdi>{organization}</bdi>
          <span className="under">{explanation}</span>
        </span>
        <span className="aside num">
          {formatCount(sessions)} {sessions === 1 ? "session" : "sessions"}
        </span>
      </summary>
      <Facts>
        <Fact name="Policy">{policyName(failure.policyType)}</Fact>
        <Fact name="Sending server">{failure.sendingIp}</Fact>
        <Fact name="Your mail server">{failure.receivingMx}</Fact>
        <Fact name="Last reported">{lastSeenAt && <Day at={lastSeenAt} />}</Fact>
        <Fact name="Authenticated">{authenticated ? "yes" : "no: anyone can write such a report"}</Fact>
      </Facts>
    </details>
  );
}

function keyOf(failure: TlsFailure): string {
  const { resultType, organization, policyType, sendingIp, receivingMx, authenticated } = failure;
  return JSON.stringify([resultType, organization, policyType, sendingIp, receivingMx, authenticated]);
}

function NoReports({ summary, domain }: { summary: GetTlsSummaryResponse; domain: Domain }) {
  const { recordName, recordValue } = summary;
  return (
    <>
      <p className="report-note">
        No TLS reports yet. Large senders report once a day whether they could reach the mail servers of {domain.domain}{" "}
        with TLS. To get these reports, publish this record. It is optional, and useful only if the domain receives
        mail.
      </p>
      {recordName !== "" && (
        <RecordToPublish domain={domain} name={recordName} value={recordValue} purpose="the TLS reporting record" />
      )}
    </>
  );
}
