/** One event, told: its word, its sentence, the receiver's own words and the plain facts. */
import { Group, Stack, Text } from "@mantine/core";
import type { Event } from "../../../src/gen/v1/event_pb.ts";
import { AnchorLink } from "../parts/links.tsx";
import { Mark } from "../parts/mark.tsx";
import { Time } from "../parts/time.tsx";
import { describe } from "./describe.ts";

export function ToldEvent({ event }: { event: Event }) {
  const { word, text, reply, facts, inboundId } = describe(event);
  return (
    <Stack gap={4}>
      <Group gap="xs">
        <Mark of={word} />
        <Text size="sm" c="dimmed">
          {event.createdAt && <Time at={event.createdAt} />}
        </Text>
      </Group>
      <Text size="sm" className="wrap" dir="auto">
        {text}
      </Text>
      {reply !== "" && (
        <Text size="sm" className="wrap said" component="blockquote" m={0}>
          {reply}
        </Text>
      )}
      {inboundId && (
        <AnchorLink to="/inbound/$id" params={{ id: inboundId }} size="sm" w="fit-content">
          Read it
        </AnchorLink>
      )}
      {facts.length > 0 && (
        <Text size="xs" c="dimmed" className="wrap">
          {facts.map(([name, value]) => `${name}: ${value}`).join(" · ")}
        </Text>
      )}
    </Stack>
  );
}
