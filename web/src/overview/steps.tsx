/** The content of three steps of the guide: check the domain's records, create a key, watch the events of an email. */
import { useQuery } from "@connectrpc/connect-query";
import { Button, Group, Stack, Text } from "@mantine/core";
import { DomainService } from "../../../src/gen/v1/domain_pb.ts";
import { PublishLocally } from "../domains/domain-page.tsx";
import { RecordCard, recordsOf } from "../domains/record-card.tsx";
import { useVerify, VerifyButton, VerifyResult } from "../domains/verify.tsx";
import { useEmailEvents } from "../emails/queries.ts";
import { Timeline } from "../events/timeline.tsx";
import { AnchorLink } from "../parts/links.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";

export function VerifyStep({ id }: { id: string }) {
  const query = useQuery(DomainService.method.getDomain, { id }, { refetchInterval: 5_000 });
  const verification = useVerify(id);
  const domain = query.data?.domain;
  if (query.isPending) return <Loading what="the records" rows={3} height={120} />;
  if (!domain) return <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />;
  return (
    <Stack>
      <Text>
        {domain.summary?.message} You can send as soon as one DKIM record is found. Posthorn also checks automatically
        every few minutes.
      </Text>
      {domain.localDns && <PublishLocally domain={domain} />}
      <Group>
        <VerifyButton verification={verification} isSecondary={domain.localDns} />
      </Group>
      <VerifyResult verification={verification} />
      <Stack component="ul" gap="sm" className="list" aria-label={`DNS records of ${domain.domain}`}>
        {recordsOf(domain).map(({ record, key }) => (
          <RecordCard key={key} record={record} />
        ))}
      </Stack>
    </Stack>
  );
}

export function KeyStep({ onCreate, onSkip }: { onCreate(): void; onSkip(): void }) {
  return (
    <Stack align="flex-start">
      <Text>Your program sends the key with each call. The permission “Send” is enough to send email.</Text>
      <Group>
        <Button onClick={onCreate}>Create key</Button>
        <Button variant="subtle" onClick={onSkip}>
          Skip this step
        </Button>
      </Group>
    </Stack>
  );
}

export function WatchStep({ id }: { id: string }) {
  const { events, error, refetch } = useEmailEvents(id, 1_000);
  return (
    <Stack>
      {error && <ProblemAlert error={error} onRetry={() => void refetch()} />}
      <div role="status">
        {events.length === 0 ? (
          <Text>The email is accepted. Its events appear here.</Text>
        ) : (
          <Timeline entries={events} label="Events of the email" />
        )}
      </div>
      <Text>
        <AnchorLink to="/emails/$id" params={{ id }}>
          Open the email
        </AnchorLink>
        , or watch all events on the <AnchorLink to="/events">Events</AnchorLink> page.
      </Text>
    </Stack>
  );
}
