/** One event in a timeline: label, time, description, the receiver's reply and facts. */
import { Group, Stack, Text } from "@mantine/core";
import type { Event } from "../../../src/gen/v1/event_pb.ts";
import { StatusBadge } from "../parts/icons.tsx";
import { AnchorLink } from "../parts/links.tsx";
import { Time } from "../parts/time.tsx";
import { describe } from "./describe.ts";

export function EventSummary({ event }: { event: Event }) {
  const { label, text, reply, facts, inboundId } = describe(event);
  return (
    <Stack gap={4}>
      <Group gap="xs">
        <StatusBadge of={label} />
        <Text size="sm" c="dimmed">
          {event.createdAt && <Time at={event.createdAt} />}
        </Text>
      </Group>
      <Text size="sm" className="wrap" dir="auto">
        {text}
      </Text>
      {reply !== "" && (
        <Text size="sm" className="wrap reply" component="blockquote" m={0}>
          {reply}
        </Text>
      )}
      {inboundId && (
        <AnchorLink to="/inbound/$id" params={{ id: inboundId }} size="sm" w="fit-content">
          Read message
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
