/** The two pages of a domain, its DNS records and its reports, as tabs. */
import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import { ReportService } from "../../../src/gen/v1/report_pb.ts";
import { isDue } from "../reports/progress.ts";
import "./tabs.css";

export function DomainTabs({ id, hasHint = false }: { id: string; hasHint?: boolean }) {
  return (
    <nav className="tabs" aria-label="Domain">
      <Link to="/domains/$id" params={{ id }} activeOptions={{ exact: true }}>
        DNS records
      </Link>
      <Link to="/domains/$id/reports" params={{ id }}>
        Reports
        {hasHint && <Hint id={id} />}
      </Link>
    </nav>
  );
}

/** Says that the reports suggest a step. Without an answer there is no hint: the page of reports shows the error. */
function Hint({ id }: { id: string }) {
  const { data } = useQuery(ReportService.method.getDmarcSummary, { domainId: id }, { staleTime: 60_000 });
  const step = data?.progress?.step;
  // Before the first report, the table of records shows what is missing.
  if (step === undefined || !data?.lastReportAt || !isDue(step)) return null;
  return <span className="hint">next step</span>;
}
