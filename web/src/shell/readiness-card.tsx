/** Shows whether this instance is ready, not ready or unreachable. The reasons are on the operations port, for operators. */
import { Badge, Card, Group, Skeleton, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

export function ReadinessCard() {
  const { data, isPending, isError } = useReadiness();
  const state = isError ? unreachable : data?.ready ? ready : notReady;
  return (
    <Card withBorder padding="lg" component="section" aria-labelledby="readiness">
      <Stack>
        <Group justify="space-between">
          <Title order={2} size="h3" id="readiness">
            This instance
          </Title>
          {isPending ? (
            <Skeleton width={96} height={22} radius="xl" />
          ) : (
            <Badge size="lg" variant="light" color={state.color}>
              {state.label}
            </Badge>
          )}
        </Group>
        <Text role="status">{isPending ? "Checking the server…" : state.text}</Text>
        <Text size="sm" c="dimmed">
          {location.host}
        </Text>
      </Stack>
    </Card>
  );
}

const ready = { label: "Ready", color: "green", text: "All components work. The server accepts mail." };
const notReady = {
  label: "Not ready",
  color: "red",
  text: "A component of the server has a problem. Calls return “unavailable” until it is fixed; accepted mail is not lost. Operators can find the cause with “posthorn doctor”.",
};
const unreachable = {
  label: "Unreachable",
  color: "red",
  text: "The server does not respond. It may be stopped or starting. This page retries automatically.",
};

interface Readiness {
  ready: boolean;
}

/** Polls /readyz every 10 seconds while the page is visible. */
function useReadiness() {
  return useQuery({
    queryKey: ["readyz"],
    queryFn: async ({ signal }): Promise<Readiness> => {
      const response = await fetch("/readyz", { signal });
      // 503 means not ready, and has a body too.
      if (response.status !== 200 && response.status !== 503) throw new Error(`HTTP ${response.status}`);
      return (await response.json()) as Readiness;
    },
    refetchInterval: 10_000,
  });
}
