/** The page of a domain's reports: the way to p=reject, who sends in its name, TLS to its mail servers, and the reports that arrived. */
import { useQuery } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type Domain, DomainService } from "../../../src/gen/v1/domain_pb.ts";
import { ReportService } from "../../../src/gen/v1/report_pb.ts";
import { DomainTabs } from "../domains/domain-tabs.tsx";
import { Fresh } from "../parts/fresh.tsx";
import { Back, Page } from "../parts/page.tsx";
import { RangeMenu } from "../parts/range-menu.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import "../stats/stats.css";
import { Arrived } from "./arrived.tsx";
import { Progress } from "./progress-card.tsx";
import { type ReportSearch, rangeOf, ranges, requestOf } from "./range.ts";
import "./reports.css";
import { Senders } from "./senders.tsx";
import { TlsReports } from "./tls-reports.tsx";

const route = getRouteApi("/domains/$id/reports");
const back = <Back to="/domains">Domains</Back>;

export function ReportsPage() {
  const { id } = route.useParams();
  const query = useQuery(DomainService.method.getDomain, { id });
  const domain = query.data?.domain;
  if (domain) return <Reports key={id} domain={domain} />;
  return (
    <Page title="Domain" part="Reports" back={back}>
      {query.isPending ? (
        <Loading what="the domain" rows={8} height={44} />
      ) : (
        <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />
      )}
    </Page>
  );
}

function Reports({ domain }: { domain: Domain }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const show = (part: ReportSearch) =>
    void navigate({ search: (before) => ({ ...before, ...part }), replace: true, resetScroll: false });
  const range = rangeOf(search.range);
  const query = useQuery(
    ReportService.method.getDmarcSummary,
    { domainId: domain.id, ...requestOf(range, Date.now()) },
    { refetchInterval: 60_000, placeholderData: keepPreviousData },
  );
  return (
    <Page
      title={domain.domain}
      part="Reports"
      badge={<Fresh query={query} />}
      back={back}
      actions={<RangeMenu range={range} ranges={ranges} onSelect={(id) => show({ range: id, day: undefined })} />}
    >
      <DomainTabs id={domain.id} />
      {query.isPending && <Loading what="the reports" rows={8} height={44} />}
      {query.error && !query.data && <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />}
      {query.data && (
        <>
          {query.data.progress && <Progress progress={query.data.progress} domain={domain} />}
          <Senders
            summary={query.data}
            isCurrent={!query.isPlaceholderData}
            domain={domain}
            range={range}
            search={search}
            onChange={show}
          />
          <TlsReports domain={domain} range={range} search={search} />
          <Arrived domainId={domain.id} />
        </>
      )}
    </Page>
  );
}
