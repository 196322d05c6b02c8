/** Converts counts and reports to messages of the contract. Called by service.ts. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate, timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type DmarcProgressSchema,
  type DmarcSourceSchema,
  DmarcStep,
  ReportKind,
  type ReportSchema,
  type TlsFailureSchema,
} from "../gen/v1/report_pb.ts";
import { toWireId } from "../postgres/ids.ts";
import { type DmarcCounts, noMessages } from "./rules/counts.ts";
import type { Progress } from "./rules/progress.ts";
import { explainTls } from "./rules/tls-results.ts";
import type { DmarcSource } from "./store/dmarc.ts";
import type { ReportKind as StoredKind, StoredReport } from "./store/list.ts";
import type { TlsFailure } from "./store/tls.ts";

export function progressOnWire(
  { step, ...progress }: Progress,
  { daysReported, recent }: { daysReported: number; recent: DmarcCounts },
): MessageInitShape<typeof DmarcProgressSchema> {
  return { ...progress, step: DmarcStep[step], daysReported, recent };
}

export function sourceOnWire(
  source: DmarcSource,
  { own, host }: { own: boolean; host: string },
): MessageInitShape<typeof DmarcSourceSchema> {
  const { firstMs, lastMs, ip, headerFrom, dkimDomains, spfDomains, reporters, overrides } = source;
  const counts = Object.fromEntries(Object.keys(noMessages).map((name) => [name, source[name as keyof DmarcCounts]]));
  return {
    ip,
    host,
    own,
    counts,
    headerFrom,
    dkimDomains,
    spfDomains,
    reporters,
    overrides,
    firstSeenAt: timestampFromMs(firstMs),
    lastSeenAt: timestampFromMs(lastMs),
  };
}

const kindOnWire = { dmarc: ReportKind.DMARC, tls: ReportKind.TLS } as const;

export function kindFromWire(kind: ReportKind): StoredKind | undefined {
  return kind === ReportKind.DMARC ? "dmarc" : kind === ReportKind.TLS ? "tls" : undefined;
}

export function reportOnWire(report: StoredReport): MessageInitShape<typeof ReportSchema> {
  const { id, kind, via, organization, reporter, reportId, total, failed } = report;
  return {
    id: toWireId("report", id),
    kind: kindOnWire[kind],
    organization,
    authenticatedDomain: reporter,
    via,
    reportId,
    beginAt: timestampFromDate(report.beginAt),
    endAt: timestampFromDate(report.endAt),
    receivedAt: timestampFromDate(report.receivedAt),
    total,
    failed,
  };
}

export function failureOnWire({ lastMs, ...failure }: TlsFailure): MessageInitShape<typeof TlsFailureSchema> {
  return { ...failure, explanation: explainTls(failure.resultType), lastSeenAt: timestampFromMs(lastMs) };
}
