/** Whether this instance can serve: ready, not ready, or out of reach. The reasons are for operators, on the operations port. */
import { Badge, Card, Group, Skeleton, Stack, Text, Title } from "@mantine/core";
import { useReadiness } from "../api/readiness.ts";

export function ReadinessCard() {
  const { data, isPending, isError } = useReadiness();
  const state = isError ? away : data?.ready ? ready : notReady;
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
              {state.word}
            </Badge>
          )}
        </Group>
        <Text role="status">{isPending ? "Asking the server…" : state.text}</Text>
        <Text size="sm" c="dimmed">
          {location.host}
        </Text>
      </Stack>
    </Card>
  );
}

const ready = { word: "Ready", color: "green", text: "All parts are in order. Mail is accepted." };
const notReady = {
  word: "Not ready",
  color: "red",
  text: "A part of the server has a problem. Calls are answered with “unavailable” until it is solved; nothing accepted is lost. Operators find the reason with “posthorn doctor”.",
};
const away = {
  word: "Out of reach",
  color: "red",
  text: "The server does not answer. It may be stopped or starting; this page asks again by itself.",
};
