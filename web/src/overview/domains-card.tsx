/** The domains at a glance, those that need something first. */
import { useQuery } from "@connectrpc/connect-query";
import { Group, Stack, Text } from "@mantine/core";
import { type Domain, DomainService, DomainStatus } from "../../../src/gen/v1/domain_pb.ts";
import { domainWord } from "../domains/words.ts";
import { AnchorLink } from "../parts/links.tsx";
import { Mark } from "../parts/mark.tsx";
import { ProblemAlert } from "../parts/problem-alert.tsx";
import { Section } from "../parts/section.tsx";
import { Loading } from "../parts/states.tsx";

const shown = 5;

export function DomainsCard() {
  const query = useQuery(DomainService.method.listDomains, { page: 1, pageSize: 100 }, { refetchInterval: 15_000 });
  return (
    <Section title="Domains">
      {query.isPending ? (
        <Loading what="the domains" rows={3} height={32} />
      ) : query.data ? (
        <Listed domains={query.data.data} total={query.data.total} />
      ) : (
        <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />
      )}
    </Section>
  );
}

function Listed({ domains, total }: { domains: Domain[]; total: number }) {
  const isReady = (domain: Domain) => domain.status === DomainStatus.READY;
  const sorted = [...domains].sort((a, b) => Number(isReady(a)) - Number(isReady(b))).slice(0, shown);
  return (
    <Stack gap="sm">
      {total === 0 && <Text c="dimmed">There is no domain yet.</Text>}
      <Stack component="ul" className="list" gap="xs">
        {sorted.map((domain) => (
          <Group component="li" key={domain.id} justify="space-between" wrap="nowrap">
            <AnchorLink to="/domains/$id" params={{ id: domain.id }} className="wrap">
              {domain.domain}
            </AnchorLink>
            <Mark of={domainWord(domain.status)} />
          </Group>
        ))}
      </Stack>
      <AnchorLink to="/domains" size="sm">
        {total > shown ? `All ${total} domains` : "To the domains"}
      </AnchorLink>
    </Stack>
  );
}
