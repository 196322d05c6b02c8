/** Bounces and complaints that changed nothing, because they do not prove which recipient they are about. A part of the page Suppressions,
 * shown only if there are any. */
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Text } from "@mantine/core";
import { InboundService, type UnattributedReport, UnattributedReportKind } from "../../../src/gen/v1/inbound_pb.ts";
import { StatusBadge, type StatusLabel } from "../parts/icons.tsx";
import { AnchorLink } from "../parts/links.tsx";
import { Section } from "../parts/page.tsx";
import { PagedList } from "../parts/paged-list.tsx";
import { Time } from "../parts/time.tsx";

export function UnattributedReports() {
  const query = useInfiniteQuery(
    InboundService.method.listUnattributedReports,
    { pageToken: "", pageSize: 20 },
    { pageParamKey: "pageToken", getNextPageParam: (page) => page.nextPageToken || undefined },
  );
  const isEmpty = query.data?.pages.every((page) => page.data.length === 0);
  if (query.isPending || isEmpty) return null;
  return (
    <Section title="Reports without a recipient">
      <Text c="dimmed">
        These bounces and complaints do not prove which recipient they are about, so Posthorn changed no recipient and
        suppressed no address. If you believe a report, suppress the address yourself.
      </Text>
      <PagedList
        query={query}
        what="the reports"
        label="Reports without a recipient, newest first"
        keyOf={({ emailId, kind, reason }) => `${emailId} ${kind} ${reason}`}
        row={(report) => <Row report={report} />}
        framed
        empty={null}
      />
    </Section>
  );
}

const labels: Partial<Record<UnattributedReportKind, StatusLabel>> = {
  [UnattributedReportKind.BOUNCE]: { text: "Bounce", color: "red" },
  [UnattributedReportKind.COMPLAINT]: { text: "Complaint", color: "orange" },
};

function Row({ report }: { report: UnattributedReport }) {
  const { emailId, kind, explanation, namedRecipient, reports, lastReceivedAt } = report;
  return (
    <div className="row">
      <StatusBadge of={labels[kind] ?? { text: `Report ${kind}`, color: "gray" }} />
      <div className="middle">
        <AnchorLink to="/emails/$id" params={{ id: emailId }} className="wrap">
          {emailId}
        </AnchorLink>
        <Text size="sm" className="wrap">
          {explanation}
        </Text>
        <Text size="sm" c="dimmed" className="wrap">
          {reports === 1 ? "1 report" : `${reports.toLocaleString("en")} reports`}
          {namedRecipient !== "" && ` · ${reports === 1 ? "it" : "the newest"} names ${namedRecipient}`}
        </Text>
      </div>
      <div className="aside">{lastReceivedAt && <Time at={lastReceivedAt} />}</div>
    </div>
  );
}
