/** Every recipient of an email with all that happened to it, each attempt in the receiver's own words. */
import { Card, Group, Stack, Text } from "@mantine/core";
import type { Email, EmailRecipient } from "../../../src/gen/v1/email_pb.ts";
import type { EventEntry } from "../../../src/gen/v1/event_pb.ts";
import { describe } from "../events/describe.ts";
import { Timeline } from "../events/timeline.tsx";
import { Mark } from "../parts/mark.tsx";
import { ProblemAlert } from "../parts/problem-alert.tsx";
import { Section } from "../parts/section.tsx";
import { Loading } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { eventsEvery, useEmailEvents } from "./queries.ts";
import { isOpen, recipientWord } from "./words.ts";

export function Recipients({ email }: { email: Email }) {
  const state = [email.status, ...email.recipients.map(({ status, attempts }) => `${status} ${attempts}`)].join();
  const everyMs = eventsEvery(isOpen(email.status));
  const { events, isPending, data, error, refetch } = useEmailEvents(email.id, everyMs, state);
  // Answers and the like are about the email, not about one of its recipients.
  const others = events.filter(({ event }) => event && describe(event).recipients.length === 0);
  return (
    <Section title="Recipients and what happened">
      {error && <ProblemAlert error={error} onRetry={() => void refetch()} />}
      {isPending ? (
        <Loading what="the events" rows={email.recipients.length || 1} height={96} />
      ) : (
        data && (
          <Stack component="ul" className="list" gap="sm">
            {email.recipients.map((recipient) => (
              <Recipient key={recipient.address} recipient={recipient} events={events} />
            ))}
            {others.length > 0 && (
              <Card withBorder padding="md" component="li">
                <Text fw={600} mb="sm">
                  Answers
                </Text>
                <Timeline entries={others} label="Answers" />
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
          <Mark of={recipientWord(recipient.status)} />
        </Group>
        {recipient.nextAttemptAt && (
          <Text size="sm">
            Next attempt <Time at={recipient.nextAttemptAt} />
            {recipient.attempts > 0 && ` · ${recipient.attempts} so far`}
          </Text>
        )}
        {own.length > 0 ? (
          <Timeline entries={own} label={`Events of ${recipient.address}`} />
        ) : (
          <Text size="sm" c="dimmed">
            Nothing has happened yet. This page looks again by itself.
          </Text>
        )}
      </Stack>
    </Card>
  );
}
