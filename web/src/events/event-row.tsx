/** One event in the log: label, the person it is about, what happened, and the time. Expanded, it shows the event as JSON. */
import { toJsonString } from "@bufbuild/protobuf";
import { Group, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { type Event, EventSchema } from "../../../src/gen/v1/event_pb.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { AnchorLink } from "../parts/links.tsx";
import { Mark } from "../parts/outcome.tsx";
import { TextBlock } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";
import { describe } from "./describe.ts";

export function EventRow({ cursor, event }: { cursor: string; event: Event }) {
  const [isOpen, setIsOpen] = useState(false);
  const { label, text, recipients, sender, inboundId, reportedDomainId } = describe(event);
  const who = recipients.length > 0 ? recipients.join(", ") : sender;
  return (
    <details onToggle={(change) => setIsOpen(change.currentTarget.open)}>
      <summary className="event-row">
        <Mark tone={label.tone}>{label.text}</Mark>
        <span className="event-who cut" dir="auto">
          {who || event.type}
        </span>
        <span className="event-what cut" dir="auto">
          {text}
        </span>
        <span className="event-cursor faint num">#{cursor}</span>
        <span className="event-time faint num">{event.createdAt && <Time at={event.createdAt} />}</span>
      </summary>
      {isOpen && (
        <Stack p="md" pt={0} gap="xs">
          <Group gap="xs">
            <Text size="sm">Cursor {cursor}</Text>
            <CopyButton value={cursor} name={`cursor ${cursor}`} />
            <Text size="sm" className="wrap">
              {event.id}
            </Text>
            <CopyButton value={event.id} name="the event id" />
            {event.emailId !== "" && (
              <AnchorLink to="/emails/$id" params={{ id: event.emailId }} size="sm">
                Open email
              </AnchorLink>
            )}
            {inboundId && (
              <AnchorLink to="/inbound/$id" params={{ id: inboundId }} size="sm">
                Open message
              </AnchorLink>
            )}
            {reportedDomainId && (
              <AnchorLink to="/domains/$id/reports" params={{ id: reportedDomainId }} size="sm">
                Open reports
              </AnchorLink>
            )}
          </Group>
          <TextBlock text={toJsonString(EventSchema, event, { prettySpaces: 2 })} label={`Event ${cursor} as JSON`} />
        </Stack>
      )}
    </details>
  );
}
