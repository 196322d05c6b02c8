/** The page of one domain: where to add which DNS records, the result of the last check, the DKIM keys and deletion. */
import { useQuery } from "@connectrpc/connect-query";
import { Alert, Button, Group } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { type Domain, DomainService, DomainStatus } from "../../../src/gen/v1/domain_pb.ts";
import { Fresh, type FreshQuery } from "../parts/fresh.tsx";
import { ButtonLink } from "../parts/links.tsx";
import { Mark, Say } from "../parts/outcome.tsx";
import { Back, Page } from "../parts/page.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { WriteOnly } from "../shell/write-only.tsx";
import { CheckedAgo } from "./checked-ago.tsx";
import { DeleteDomain } from "./delete-domain.tsx";
import { DkimKeys } from "./dkim-keys.tsx";
import { DomainTabs } from "./domain-tabs.tsx";
import { domainLabel } from "./labels.ts";
import { PublishLocally } from "./publish-locally.tsx";
import { countRecords, recordsOf } from "./record-text.ts";
import { RecordsTable } from "./records-table.tsx";
import { ShareDomain } from "./share-domain.tsx";
import { headlineOf, zoneOf } from "./summary.ts";
import { useVerify, VerifyButton, VerifyResult } from "./verify.tsx";
import { ZoneFileButton } from "./zone-file.tsx";
import { Quirks, ZoneLead } from "./zone-lead.tsx";

const route = getRouteApi("/domains/$id");
const back = <Back to="/domains">Domains</Back>;

export function DomainPage() {
  const { id } = route.useParams();
  const query = useQuery(DomainService.method.getDomain, { id }, { refetchInterval: 5_000 });
  const domain = query.data?.domain;
  if (domain) return <DomainDetails domain={domain} query={query} />;
  return (
    <Page title="Domain" back={back}>
      {query.isPending ? (
        <Loading what="the domain" rows={8} height={44} />
      ) : (
        <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />
      )}
    </Page>
  );
}

function DomainDetails({ domain, query }: { domain: Domain; query: FreshQuery }) {
  const [isDeleting, deleting] = useDisclosure(false);
  const navigate = useNavigate();
  const verification = useVerify(domain.id);
  const [keyMessage, setKeyMessage] = useState("");
  const isReady = domain.status === DomainStatus.READY;
  const records = recordsOf(domain);
  const { found, total } = countRecords(records.map(({ record }) => record));
  const { tone, meaning } = domainLabel(domain.status);
  const headline = headlineOf(domain);
  return (
    <Page
      title={domain.domain}
      badge={
        <>
          <Mark tone={tone} title={meaning}>
            {isReady ? "Ready" : `${found} of ${total} records found`}
          </Mark>
          <Fresh query={query} live />
        </>
      }
      back={back}
      actions={
        <>
          <WriteOnly>
            <ShareDomain domain={domain} />
          </WriteOnly>
          <WriteOnly>
            <ButtonLink variant="default" to="/domains/$id/deliverability" params={{ id: domain.id }}>
              Check deliverability
            </ButtonLink>
          </WriteOnly>
          <ZoneFileButton id={domain.id} />
          <WriteOnly>
            <VerifyButton verification={verification} />
          </WriteOnly>
        </>
      }
    >
      <DomainTabs id={domain.id} hasHint />
      <Say tone={headline.tone} title={headline.title}>
        {headline.text}
      </Say>
      {keyMessage !== "" && (
        <Alert color="green" role="alert">
          {keyMessage}
        </Alert>
      )}
      {!isReady && domain.localDns && (
        <WriteOnly>
          <PublishLocally domain={domain} />
        </WriteOnly>
      )}
      <div className="lead">
        {!isReady && <ZoneLead zone={zoneOf(domain)} provider={domain.provider} />}{" "}
        <CheckedAgo at={domain.lastCheckedAt} />, checked again every 5 minutes while this page is open.
        {!isReady && <Quirks provider={domain.provider} />}
        <VerifyResult verification={verification} />
      </div>
      <RecordsTable records={records} zone={zoneOf(domain)} label="DNS records" />
      <DkimKeys domain={domain} onDone={setKeyMessage} />
      <WriteOnly>
        <Group gap="xs">
          <Button variant="default" onClick={deleting.open}>
            Delete domain
          </Button>
        </Group>
      </WriteOnly>
      <DeleteDomain
        domain={domain}
        isOpen={isDeleting}
        onClose={deleting.close}
        onDeleted={() => void navigate({ to: "/domains" })}
      />
    </Page>
  );
}
