/** The content of the steps of the guide: check the domain's records, create a key, send, watch the events, create a webhook. */
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { Alert, Anchor, Button, Group, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { DomainService } from "../../../src/gen/v1/domain_pb.ts";
import { KeyService } from "../../../src/gen/v1/key_pb.ts";
import { KeyPermission } from "../../../src/gen/v1/options_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { PublishLocally } from "../domains/domain-page.tsx";
import { RecordCard, recordsOf } from "../domains/record-card.tsx";
import { useVerify, VerifyButton, VerifyResult } from "../domains/verify.tsx";
import { useEmailEvents } from "../emails/queries.ts";
import { SendForm } from "../emails/send-form.tsx";
import { Timeline } from "../events/timeline.tsx";
import { Copyable } from "../parts/copy-button.tsx";
import { Form, formErrors, TextField } from "../parts/form.tsx";
import { ButtonLink } from "../parts/links.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { CallSnippets } from "./call-snippets.tsx";

export function VerifyStep({ id }: { id: string }) {
  const query = useQuery(DomainService.method.getDomain, { id }, { refetchInterval: 5_000 });
  const verification = useVerify(id);
  const domain = query.data?.domain;
  if (query.isPending) return <Loading what="the records" rows={3} height={120} />;
  if (!domain) return <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />;
  return (
    <Stack>
      <Text>
        {domain.summary?.message} You can send as soon as one DKIM record is found. Posthorn also checks automatically
        every few minutes.
      </Text>
      {domain.localDns && <PublishLocally domain={domain} />}
      <Group>
        <VerifyButton verification={verification} isSecondary={domain.localDns} />
      </Group>
      <VerifyResult verification={verification} />
      <Stack component="ul" gap="sm" className="list" aria-label={`DNS records of ${domain.domain}`}>
        {recordsOf(domain).map(({ record, key }) => (
          <RecordCard key={key} record={record} />
        ))}
      </Stack>
    </Stack>
  );
}

/** Creates a key that can only send, for the code of the next step. */
export function KeyStep({ onCreated, onSkip }: { onCreated(secret: string): void; onSkip(): void }) {
  const [name, setName] = useState("My program");
  const creation = useMutation(KeyService.method.createKey, {
    // The response contains the secret, so it must not stay in the mutation cache.
    gcTime: 0,
    onSuccess({ secret }) {
      onCreated(secret);
      void invalidate(KeyService.method.listKeys);
    },
  });
  const { fields, error } = formErrors(creation.error);
  return (
    <Stack>
      <Text>
        Your program sends a key with each call. This one can only send email. The next step writes it into code that
        you can copy.
      </Text>
      <Form
        submitLabel="Create key"
        isPending={creation.isPending}
        error={error}
        onSubmit={() => creation.mutate({ name, permission: KeyPermission.SEND })}
      >
        <TextField
          label="Name of the key"
          description="For example, the program that uses the key."
          value={name}
          onChange={setName}
          error={fields.name}
          maxLength={100}
          autoComplete="off"
          isRequired
        />
      </Form>
      <Button variant="subtle" size="compact-sm" onClick={onSkip} style={{ alignSelf: "flex-start" }}>
        Use a key that I have
      </Button>
    </Stack>
  );
}

/** Code with the new key, or a form: the guide goes on when an email from the domain is listed. */
export function SendStep(props: { domain: string; secret: string | undefined; to: string; onSent(id: string): void }) {
  const { domain, secret, to, onSent } = props;
  const [hasForm, form] = useDisclosure(false);
  const values = {
    origin: location.origin,
    key: secret,
    from: `hello@${domain}`,
    to,
    subject: "Hello",
    body: "It works.",
  };
  return (
    <Stack>
      {secret === undefined ? (
        <Text>
          Run this code. It reads your key from the environment variable <code>POSTHORN_KEY</code>.
        </Text>
      ) : (
        <>
          <Alert color="yellow" role="status">
            Store the key now. It is not shown again after this step.
          </Alert>
          <Copyable value={secret} name="the key" />
          <Text>Run this code. It contains the key.</Text>
        </>
      )}
      <CallSnippets values={values} />
      <Text role="status" c="dimmed">
        Waiting for the first email from {domain}. This step is done when it arrives.
      </Text>
      {hasForm ? (
        <SendForm onSent={onSent} />
      ) : (
        <Button variant="default" onClick={form.open} style={{ alignSelf: "flex-start" }}>
          Send from this page instead
        </Button>
      )}
    </Stack>
  );
}

export function WatchStep({ id, onSeen }: { id: string; onSeen(): void }) {
  const { events, error, refetch } = useEmailEvents(id, 1_000);
  return (
    <Stack>
      {error && <ProblemAlert error={error} onRetry={() => void refetch()} />}
      <div role="status">
        {events.length === 0 ? (
          <Text>The email is accepted. Its events appear here.</Text>
        ) : (
          <Timeline entries={events} label="Events of the email" />
        )}
      </div>
      <Text>
        Each event is stored and numbered, so that your program can read them all, in order.{" "}
        <Anchor href="/docs/events">How to follow events</Anchor>
      </Text>
      <Group>
        <Button onClick={onSeen}>Continue</Button>
        <ButtonLink to="/emails/$id" params={{ id }} variant="default">
          Open the email
        </ButtonLink>
      </Group>
    </Stack>
  );
}

export function WebhookStep({ onCreate, onFinish }: { onCreate(): void; onFinish(): void }) {
  return (
    <Stack>
      <Text>
        A webhook posts each event to your program: for example, to stop writing to an address that bounced. Posthorn
        signs each request. <Anchor href="/docs/webhooks">How to verify the signature</Anchor>
      </Text>
      <Group>
        <Button onClick={onCreate}>Create webhook</Button>
        <Button variant="subtle" onClick={onFinish}>
          Finish without a webhook
        </Button>
      </Group>
    </Stack>
  );
}
