/** The recipients of an email, each with its status and its events, including the receiver's replies. */
import { Card, Group, Stack, Text } from "@mantine/core";
import type { Email, EmailRecipient } from "../../../src/gen/v1/email_pb.ts";
import type { EventEntry } from "../../../src/gen/v1/event_pb.ts";
import { describe } from "../events/describe.ts";
import { Timeline } from "../events/timeline.tsx";
import { StatusBadge } from "../parts/icons.tsx";
import { Section } from "../parts/page.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { isOpen, recipientLabel } from "./labels.ts";
import { eventPollMs, useEmailEvents } from "./queries.ts";

export function Recipients({ email }: { email: Email }) {
  const state = [email.status, ...email.recipients.map(({ status, attempts }) => `${status} ${attempts}`)].join();
  const pollMs = eventPollMs(isOpen(email.status));
  const { events, isPending, data, error, refetch } = useEmailEvents(email.id, pollMs, state);
  // Replies are about the email, not about one of its recipients.
  const replies = events.filter(({ event }) => event && describe(event).recipients.length === 0);
  return (
    <Section title="Recipients and events">
      {error && <ProblemAlert error={error} onRetry={() => void refetch()} />}
      {isPending ? (
        <Loading what="the events" rows={email.recipients.length || 1} height={96} />
      ) : (
        data && (
          <Stack component="ul" className="list" gap="sm">
            {email.recipients.map((recipient) => (
              <Recipient key={recipient.address} recipient={recipient} events={events} />
            ))}
            {replies.length > 0 && (
              <Card withBorder padding="md" component="li">
                <Text fw={600} mb="sm">
                  Replies
                </Text>
                <Timeline entries={replies} label="Replies" />
              </Card>
            )}
          </Stack>
        )
      )}
    </Section>
  );
}

function Recipient({ recipient, events }: { recipient: EmailRecipient; events: EventEntry[] }) {
  const own = events.filter(({ event }) => event && describe(event).recipients.includes(recipient.address));
  return (
    <Card withBorder padding="md" component="li">
      <Stack gap="sm">
        <Group justify="space-between" gap="xs">
          <Text fw={600} className="wrap" flex="1 1 220px">
            {recipient.address}
          </Text>
          <StatusBadge of={recipientLabel(recipient.status)} />
        </Group>
        {recipient.nextAttemptAt && (
          <Text size="sm">
            Next attempt <Time at={recipient.nextAttemptAt} />
            {recipient.attempts > 0 && ` · attempts so far: ${recipient.attempts}`}
          </Text>
        )}
        {own.length > 0 ? (
          <Timeline entries={own} label={`Events of ${recipient.address}`} />
        ) : (
          <Text size="sm" c="dimmed">
            No events yet. They appear here automatically.
          </Text>
        )}
      </Stack>
    </Card>
  );
}
