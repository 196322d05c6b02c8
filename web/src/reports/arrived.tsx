/** The reports about a domain that arrived, newest first. */
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { NativeSelect, Text } from "@mantine/core";
import { useState } from "react";
import { type Report, ReportKind, ReportService } from "../../../src/gen/v1/report_pb.ts";
import { Mark } from "../parts/outcome.tsx";
import { Fact, Facts, Section } from "../parts/page.tsx";
import { PagedList } from "../parts/paged-list.tsx";
import { Time } from "../parts/time.tsx";
import { formatCount } from "../stats/scale.ts";
import { periodText } from "./range.ts";

const kinds = [
  { value: String(ReportKind.UNSPECIFIED), label: "All kinds" },
  { value: String(ReportKind.DMARC), label: "DMARC" },
  { value: String(ReportKind.TLS), label: "TLS" },
];

export function Arrived({ domainId }: { domainId: string }) {
  const [kind, setKind] = useState<ReportKind>(ReportKind.UNSPECIFIED);
  const query = useInfiniteQuery(
    ReportService.method.listReports,
    { domainId, kind, pageSize: 20, pageToken: "" },
    { pageParamKey: "pageToken", getNextPageParam: (page) => page.nextPageToken || undefined },
  );
  return (
    <Section
      title="Reports that arrived"
      actions={
        <NativeSelect
          aria-label="Filter by kind"
          size="xs"
          data={kinds}
          value={String(kind)}
          onChange={(event) => setKind(Number(event.currentTarget.value) as ReportKind)}
        />
      }
    >
      <PagedList
        query={query}
        what="the reports"
        label="Reports, newest first"
        keyOf={(report) => report.id}
        row={(report) => <ReportRow report={report} />}
        framed
        onRequest
        isFresh
        empty={
          <Text c="dimmed">
            {kind === ReportKind.UNSPECIFIED
              ? "No reports yet. They arrive by themselves once the record that asks for them is published."
              : "No reports of this kind yet."}
          </Text>
        }
      />
    </Section>
  );
}

function ReportRow({ report }: { report: Report }) {
  const { kind, organization, authenticatedDomain, total, failed, receivedAt, beginAt, endAt } = report;
  const isTls = kind === ReportKind.TLS;
  const unit = isTls ? "sessions" : "messages";
  const isProven = authenticatedDomain !== "";
  const period = beginAt && endAt ? periodText(beginAt, endAt, Date.now()) : "";
  return (
    <details>
      <summary className="row">
        <Mark tone={!isProven ? "canceled" : failed > 0 ? "delayed" : "delivered"}>{isTls ? "TLS" : "DMARC"}</Mark>
        <span className="middle">
          <Text size="sm" fw={560} component="span" display="block" className="wrap">
            <bdi>{organization || "Unnamed organization"}</bdi>
            {!isProven && <span className="faint"> not authenticated</span>}
          </Text>
          <Text size="sm" c="dimmed" component="span" display="block">
            {period}: {formatCount(total)} {unit}, {formatCount(failed)} failed
          </Text>
        </span>
        <span className="aside">{receivedAt && <Time at={receivedAt} />}</span>
      </summary>
      <div className="report-details">
        <Facts>
          <Fact name="Period">{period}</Fact>
          <Fact name="Authenticated as">
            {isProven ? authenticatedDomain : "Not authenticated: anyone can write such a report."}
          </Fact>
          <Fact name="Arrived by">{report.via === "https" ? "HTTPS" : report.via}</Fact>
          <Fact name="Report id of the organization">{report.reportId}</Fact>
          <Fact name="Arrived">{receivedAt && <Time at={receivedAt} long />}</Fact>
        </Facts>
      </div>
    </details>
  );
}
