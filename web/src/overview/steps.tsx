/** What the longer steps of the guide hold: the records of a domain, a key, and the events of an email. */
import { useQuery } from "@connectrpc/connect-query";
import { Button, Group, Stack, Text } from "@mantine/core";
import { DomainService } from "../../../src/gen/v1/domain_pb.ts";
import { PublishLocally } from "../domains/publish-locally.tsx";
import { RecordCard } from "../domains/record-card.tsx";
import { recordsOf } from "../domains/records.ts";
import { useVerify, VerifyButton, VerifySaid } from "../domains/verify.tsx";
import { useEmailEvents } from "../emails/queries.ts";
import { Timeline } from "../events/timeline.tsx";
import { AnchorLink } from "../parts/links.tsx";
import { ProblemAlert } from "../parts/problem-alert.tsx";
import { Loading } from "../parts/states.tsx";

export function VerifyStep({ id }: { id: string }) {
  const query = useQuery(DomainService.method.getDomain, { id }, { refetchInterval: 5_000 });
  const verification = useVerify(id);
  const domain = query.data?.domain;
  if (query.isPending) return <Loading what="the records" rows={3} height={120} />;
  if (!domain) return <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />;
  return (
    <Stack>
      <Text>
        {domain.summary?.message} Sending is possible as soon as one DKIM record is found. Posthorn looks by itself
        every few minutes.
      </Text>
      {domain.localDns && <PublishLocally domain={domain} />}
      <Group>
        <VerifyButton verification={verification} isSecond={domain.localDns} />
      </Group>
      <VerifySaid verification={verification} />
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
      <Text>Your program shows it with each call. “Send” is all that a program needs to send.</Text>
      <Group>
        <Button onClick={onCreate}>Create key</Button>
        <Button variant="subtle" onClick={onSkip}>
          Later
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
          <Text>Accepted, and on its way. Its events appear here.</Text>
        ) : (
          <Timeline entries={events} label="Events of the email" />
        )}
      </div>
      <Text>
        <AnchorLink to="/emails/$id" params={{ id }}>
          See the whole email
        </AnchorLink>
        , or follow everything on the page <AnchorLink to="/events">Events</AnchorLink>.
      </Text>
    </Stack>
  );
}
