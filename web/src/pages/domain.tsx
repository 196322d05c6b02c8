/** One domain: what is needed next, every record with what was found, checks, and its end. */
import { useQuery } from "@connectrpc/connect-query";
import { Alert, Badge, Button, Group, Stack, Text, Title } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { type Domain, DomainService, DomainStatus } from "../../../src/gen/v1/domain_pb.ts";
import { DeleteDomain } from "../domains/delete-domain.tsx";
import { PublishLocally } from "../domains/publish-locally.tsx";
import { RecordCard } from "../domains/record-card.tsx";
import { recordsOf } from "../domains/records.ts";
import { RotateDkim } from "../domains/rotate-dkim.tsx";
import { useVerify, VerifyButton, VerifySaid } from "../domains/verify.tsx";
import { domainWord } from "../domains/words.ts";
import { Back } from "../parts/back.tsx";
import { Mark } from "../parts/mark.tsx";
import { Page } from "../parts/page.tsx";
import { ProblemAlert } from "../parts/problem-alert.tsx";
import { Loading } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { WriteOnly } from "../shell/write-only.tsx";

const route = getRouteApi("/domains/$id");
const back = <Back to="/domains">Domains</Back>;

export function DomainPage() {
  const { id } = route.useParams();
  const query = useQuery(DomainService.method.getDomain, { id }, { refetchInterval: 5_000 });
  const domain = query.data?.domain;
  if (domain) return <Shown domain={domain} />;
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

function Shown({ domain }: { domain: Domain }) {
  const [isLeaving, leaving] = useDisclosure(false);
  const navigate = useNavigate();
  const verification = useVerify(domain.id);
  const [said, setSaid] = useState("");
  const isReady = domain.status === DomainStatus.READY;
  return (
    <Page
      title={domain.domain}
      mark={<Mark of={domainWord(domain.status)} />}
      back={back}
      actions={
        <WriteOnly>
          <VerifyButton verification={verification} />
          {domain.summary?.canSend && <RotateDkim domain={domain} onSaid={setSaid} />}
          <Button variant="default" onClick={leaving.open}>
            Delete
          </Button>
        </WriteOnly>
      }
    >
      <Summary domain={domain} />
      <VerifySaid verification={verification} />
      {said !== "" && (
        <Alert color="green" role="alert">
          {said}
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
        isOpen={isLeaving}
        onClose={leaving.close}
        onDeleted={() => void navigate({ to: "/domains" })}
      />
    </Page>
  );
}

function Summary({ domain }: { domain: Domain }) {
  const { summary } = domain;
  const color = domainWord(domain.status).color;
  return (
    <Alert color={color}>
      <Stack gap="xs">
        <Text className="wrap">{summary?.message}</Text>
        <Group gap="xs">
          <Badge variant="default">{summary?.canSend ? "Can send" : "Cannot send"}</Badge>
          <Badge variant="default">{summary?.canReceive ? "Can receive" : "Does not receive"}</Badge>
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
