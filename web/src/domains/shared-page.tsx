/** The page behind a link: the records of one domain for the person who runs its DNS, without a sign-in. It updates by itself. */
import { useLocation } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { SharedDomain } from "../../../src/gen/v1/domain_pb.ts";
import { Fresh } from "../parts/fresh.tsx";
import { Mark, Say } from "../parts/outcome.tsx";
import { Page } from "../parts/page.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { LogTime } from "../parts/time.tsx";
import { CheckedAgo } from "./checked-ago.tsx";
import { countRecords, recordsOf } from "./record-text.ts";
import { RecordsTable } from "./records-table.tsx";
import { isGone, useSharedDomain } from "./shared-domain.ts";
import { zoneOf } from "./summary.ts";
import { Quirks, ZoneLead } from "./zone-lead.tsx";

export function SharedDomainPage() {
  // In the fragment, so that no server logs it. It stays there: the page can be reloaded and bookmarked.
  const token = useLocation({ select: ({ hash }) => hash });
  const query = useSharedDomain(token);
  if (isGone(query.error))
    return (
      <Page title="DNS records">
        <Say tone="queued" title="This link does not work.">
          It has expired, was revoked, or is incomplete. Ask the person who sent it for a new one.
        </Say>
      </Page>
    );
  if (query.data) return <Records shared={query.data} fresh={<Fresh query={query} live />} />;
  return (
    <Page title="DNS records">
      {query.isPending ? (
        <Loading what="the records" rows={8} height={44} />
      ) : (
        <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />
      )}
    </Page>
  );
}

function Records({ shared, fresh }: { shared: SharedDomain; fresh: ReactNode }) {
  const records = [...recordsOf(shared), ...shared.importedKeyRecords.map((record) => ({ record, key: record.name }))];
  const { found, total } = countRecords(records.map(({ record }) => record));
  const isComplete = found === total;
  return (
    <Page
      title={`DNS records of ${shared.domain}`}
      badge={
        <>
          <Mark tone={isComplete ? "delivered" : "delayed"}>{`${found} of ${total} records found`}</Mark>
          {fresh}
        </>
      }
    >
      {isComplete && (
        <Say tone="delivered" title="All records are in place. Thank you.">
          You do not need to do anything else.
        </Say>
      )}
      <div className="lead">
        {!isComplete && (
          <>
            <ZoneLead zone={zoneOf(shared)} provider={shared.provider} /> They let {shared.domain} send email with
            Posthorn.{" "}
          </>
        )}
        <CheckedAgo at={shared.lastCheckedAt} />. This page updates by itself as records appear.
        {!isComplete && <Quirks provider={shared.provider} />}
      </div>
      <RecordsTable records={records} zone={zoneOf(shared)} label="DNS records" />
      {shared.expiresAt && (
        <p className="faint small">
          This link is read-only and works until <LogTime at={shared.expiresAt} />.
        </p>
      )}
    </Page>
  );
}
