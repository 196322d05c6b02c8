/** The quotas of the workspace as bars: what is used, the limit, and when a window starts again. */
import { useQuery } from "@connectrpc/connect-query";
import { Flex, Progress, Stack, Text } from "@mantine/core";
import { type Quota, WorkspaceService } from "../../../src/gen/v1/workspace_pb.ts";
import { Fresh } from "../parts/fresh.tsx";
import { Fact, Facts, Section } from "../parts/page.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { amountText, atLimit, percentUsed, quotaNames, usedText } from "./quota-text.ts";

export function Quotas() {
  const query = useQuery(WorkspaceService.method.getQuotas, {}, { refetchInterval: 30_000 });
  return (
    <Section title="Quotas" badge={<Fresh query={query} live />}>
      {query.isPending && <Loading what="the quotas" rows={3} height={40} />}
      {query.error && <ProblemAlert error={query.error} onRetry={() => query.refetch()} />}
      {query.data && <QuotaList quotas={query.data.quotas} />}
    </Section>
  );
}

function QuotaList({ quotas }: { quotas: readonly Quota[] }) {
  const limited = quotas.filter(({ limit }) => limit !== undefined);
  const unlimited = quotas.filter(({ limit }) => limit === undefined);
  return (
    <Stack gap="md">
      <Text size="sm" c="dimmed">
        The operator of this service sets the limits. At 80 % and 100 %, owners get an email and webhooks get the event
        workspace.quota. An email counts once for each recipient.
      </Text>
      {limited.length === 0 && (
        <Text>This workspace has no limits yet. When the operator sets one, it appears here.</Text>
      )}
      {limited.map((quota) => (
        <Bar key={quota.kind} quota={quota} />
      ))}
      {unlimited.length > 0 && (
        <>
          <Text size="sm" fw={600}>
            No limit
          </Text>
          <Facts>
            {unlimited.map(({ kind, used }) => (
              <Fact key={kind} name={quotaNames[kind] ?? "Other"}>
                {amountText(kind, used)} used
              </Fact>
            ))}
          </Facts>
        </>
      )}
    </Stack>
  );
}

function Bar({ quota: { kind, limit = 0, used, resetsAt } }: { quota: Quota }) {
  const name = quotaNames[kind] ?? "Other";
  const percent = percentUsed(used, limit);
  const color = percent >= 100 ? "var(--bounced)" : percent >= 80 ? "var(--delayed)" : "var(--queued)";
  return (
    <Stack gap={4}>
      <Flex direction={{ base: "column", xs: "row" }} justify="space-between" columnGap="xs">
        <Text size="sm" fw={600}>
          {name}
        </Text>
        <Text size="sm">
          {usedText(kind, used, limit)}
          {resetsAt && (
            <>
              {" "}
              · resets <Time at={resetsAt} />
            </>
          )}
        </Text>
      </Flex>
      <Progress value={percent} color={color} size="md" aria-label={`${name}: ${percent} % used`} />
      {percent >= 100 && (
        <Text size="sm" c="var(--mantine-color-error)">
          {atLimit[kind] ?? "Further requests are refused."}
        </Text>
      )}
    </Stack>
  );
}
