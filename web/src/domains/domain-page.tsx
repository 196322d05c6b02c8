/** The page of one domain: next step, DNS records with the result of the last check, key rotation and deletion. */
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { Alert, Badge, Button, Group, Stack, Text, Title } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { type Domain, DomainService, DomainStatus } from "../../../src/gen/v1/domain_pb.ts";
import { StatusBadge } from "../parts/icons.tsx";
import { Back, Page } from "../parts/page.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { WriteOnly } from "../shell/write-only.tsx";
import { DeleteDomain } from "./delete-domain.tsx";
import { domainLabel } from "./labels.ts";
import { RecordCard, recordsOf } from "./record-card.tsx";
import { RotateDkim } from "./rotate-dkim.tsx";
import { cacheDomain, useVerify, VerifyButton, VerifyResult } from "./verify.tsx";

const route = getRouteApi("/domains/$id");
const back = <Back to="/domains">Domains</Back>;

export function DomainPage() {
  const { id } = route.useParams();
  const query = useQuery(DomainService.method.getDomain, { id }, { refetchInterval: 5_000 });
  const domain = query.data?.domain;
  if (domain) return <DomainDetails domain={domain} />;
  return (
    <Page title="Domain" back={back}>
      {query.isPending ? (
        <Loading what="the domain" rows={5} height={140} />
      ) : (
        <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />
      )}
    </Page>
  );
}

function DomainDetails({ domain }: { domain: Domain }) {
  const [isDeleting, deleting] = useDisclosure(false);
  const navigate = useNavigate();
  const verification = useVerify(domain.id);
  const [rotationMessage, setRotationMessage] = useState("");
  const isReady = domain.status === DomainStatus.READY;
  return (
    <Page
      title={domain.domain}
      badge={<StatusBadge of={domainLabel(domain.status)} />}
      back={back}
      actions={
        <WriteOnly>
          <VerifyButton verification={verification} />
          {domain.summary?.canSend && <RotateDkim domain={domain} onRotated={setRotationMessage} />}
          <Button variant="default" onClick={deleting.open}>
            Delete domain
          </Button>
        </WriteOnly>
      }
    >
      <Summary domain={domain} />
      <VerifyResult verification={verification} />
      {rotationMessage !== "" && (
        <Alert color="green" role="alert">
          {rotationMessage}
        </Alert>
      )}
      {!isReady && domain.localDns && (
        <WriteOnly>
          <PublishLocally domain={domain} />
        </WriteOnly>
      )}
      <Stack component="section" aria-labelledby="records" gap="sm">
        <Title order={2} size="h3" id="records">
          DNS records
        </Title>
        <Stack component="ul" gap="sm" className="list">
          {recordsOf(domain).map(({ record, key }) => (
            <RecordCard key={key} record={record} />
          ))}
        </Stack>
      </Stack>
      <DeleteDomain
        domain={domain}
        isOpen={isDeleting}
        onClose={deleting.close}
        onDeleted={() => void navigate({ to: "/domains" })}
      />
    </Page>
  );
}

function Summary({ domain }: { domain: Domain }) {
  const { summary } = domain;
  const color = domainLabel(domain.status).color;
  return (
    <Alert color={color}>
      <Stack gap="xs">
        <Text className="wrap">{summary?.message}</Text>
        <Group gap="xs">
          <Badge variant="default">{summary?.canSend ? "Can send" : "Cannot send"}</Badge>
          <Badge variant="default">{summary?.canReceive ? "Can receive" : "Cannot receive"}</Badge>
          <Text size="sm">
            {summary?.recordsConfigured} of {(summary?.recordsConfigured ?? 0) + (summary?.recordsPending ?? 0)} records
            in place
          </Text>
          <Text size="sm">
            {domain.lastCheckedAt ? (
              <>
                checked <Time at={domain.lastCheckedAt} />
              </>
            ) : (
              "not checked yet"
            )}
          </Text>
          {domain.createdAt && (
            <Text size="sm">
              added <Time at={domain.createdAt} />
            </Text>
          )}
        </Group>
      </Stack>
    </Alert>
  );
}

/** Publishes the records in Posthorn's own DNS server, for reserved names in capture mode. The guide uses it too. */
export function PublishLocally({ domain }: { domain: Domain }) {
  const publishing = useMutation(DomainService.method.publishToLocalDns, {
    onSuccess: ({ domain }) => domain && cacheDomain(domain),
  });
  return (
    <Alert color="blue" title="Reserved test domain">
      <Stack gap="sm" align="flex-start">
        <Text size="sm">
          {domain.domain} is a reserved name that no DNS provider can host. In capture mode, Posthorn&apos;s own DNS
          server can publish the records.
        </Text>
        {publishing.error && <ProblemAlert error={publishing.error} />}
        <Button onClick={() => publishing.mutate({ id: domain.id })} loading={publishing.isPending}>
          Publish to local DNS
        </Button>
      </Stack>
    </Alert>
  );
}
