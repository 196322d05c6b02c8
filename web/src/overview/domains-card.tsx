/** The domains on the overview. Domains that are not ready come first. */
import { useQuery } from "@connectrpc/connect-query";
import { Group, Stack, Text } from "@mantine/core";
import { type Domain, DomainService, DomainStatus } from "../../../src/gen/v1/domain_pb.ts";
import { domainLabel } from "../domains/labels.ts";
import { StatusBadge } from "../parts/icons.tsx";
import { AnchorLink } from "../parts/links.tsx";
import { Section } from "../parts/page.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";

const maxShown = 5;

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
  const sorted = [...domains].sort((a, b) => Number(isReady(a)) - Number(isReady(b))).slice(0, maxShown);
  return (
    <Stack gap="sm">
      {total === 0 && <Text c="dimmed">No domains yet. Add the first one on the Domains page.</Text>}
      <Stack component="ul" className="list" gap="xs">
        {sorted.map((domain) => (
          <Group component="li" key={domain.id} justify="space-between" wrap="nowrap">
            <AnchorLink to="/domains/$id" params={{ id: domain.id }} className="wrap">
              {domain.domain}
            </AnchorLink>
            <StatusBadge of={domainLabel(domain.status)} />
          </Group>
        ))}
      </Stack>
      <AnchorLink to="/domains" size="sm">
        {total > maxShown ? `Show all ${total} domains` : "Show domains"}
      </AnchorLink>
    </Stack>
  );
}
