/** The content of the steps of the guide: check the domain's records, create a key, send, watch the events, create a webhook. */
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { Alert, Anchor, Button, Group, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { DomainService } from "../../../src/gen/v1/domain_pb.ts";
import { KeyService } from "../../../src/gen/v1/key_pb.ts";
import { KeyPermission } from "../../../src/gen/v1/options_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { useSession } from "../api/session.ts";
import { PublishLocally } from "../domains/publish-locally.tsx";
import { recordsOf } from "../domains/record-text.ts";
import { RecordsTable } from "../domains/records-table.tsx";
import { zoneOf } from "../domains/summary.ts";
import { useVerify, VerifyButton, VerifyResult } from "../domains/verify.tsx";
import { Quirks, ZoneLead } from "../domains/zone-lead.tsx";
import { useEmailEvents } from "../emails/queries.ts";
import { Timeline } from "../events/timeline.tsx";
import { Copyable } from "../parts/copy-button.tsx";
import { Form, formErrors, TextField } from "../parts/form.tsx";
import { ButtonLink } from "../parts/links.tsx";
import { Section } from "../parts/page.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { CallSnippets } from "./call-snippets.tsx";

const SendForm = lazy(() => import("../emails/send-form.tsx").then((forms) => ({ default: forms.SendForm })));

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
      <div className="lead">
        <ZoneLead zone={zoneOf(domain)} provider={domain.provider} />
        <Quirks provider={domain.provider} />
      </div>
      <RecordsTable records={recordsOf(domain)} zone={zoneOf(domain)} label={`DNS records of ${domain.domain}`} />
    </Stack>
  );
}

/** Creates a key that can only send. The page then shows it with NewKeySection. */
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
        Your program sends a key with each call. This one can only send email. It is then shown once, in code that you
        can copy.
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

/** A key that was just created, and the domain to send from with it. */
export type NewKey = { secret: string; domain: string };

/** The new key and code that contains it. It is not part of a step: steps can become done before the person has stored the key. */
export function NewKeySection(props: NewKey & { onStored(): void }) {
  const { secret, domain, onStored } = props;
  const values = useExample(domain, secret);
  const top = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The promise that some browsers return must not become the cleanup of the effect.
    void top.current?.scrollIntoView({ block: "center" });
  }, []);
  return (
    <Section title="Your new key">
      <Alert color="yellow" role="status" ref={top}>
        Store the key now. It is not shown again.
      </Alert>
      <Copyable value={secret} name="the key" />
      <Text>Run this code. It contains the key.</Text>
      <CallSnippets values={values} />
      <Button onClick={onStored} style={{ alignSelf: "flex-start" }}>
        I have stored the key
      </Button>
    </Section>
  );
}

/** The values of the code: an email to the person who reads it. */
function useExample(domain: string, key?: string) {
  const { caller } = useSession();
  const to = caller?.kind === "person" ? caller.person.email : "you@example.com";
  return { origin: location.origin, key, from: `hello@${domain}`, to, subject: "Hello", body: "It works." };
}

/** Code, or a form: the guide goes on when an email from the domain is listed. */
export function SendStep(props: {
  domain: string;
  /** False while the page shows code with a new key. */
  hasCode: boolean;
  onSent(id: string): void;
}) {
  const { domain, hasCode, onSent } = props;
  const values = useExample(domain);
  const [hasForm, form] = useDisclosure(false);
  return (
    <Stack>
      {hasCode ? (
        <>
          <Text>
            Run this code. It reads your key from the environment variable <code>POSTHORN_KEY</code>.
          </Text>
          <CallSnippets values={values} />
        </>
      ) : (
        <Text>Run the code above. It contains your new key.</Text>
      )}
      <Text role="status" c="dimmed">
        Waiting for the first email from {domain}, from your code or from a program that{" "}
        <Anchor href="/docs/smtp">sends over SMTP</Anchor>. This step is done when it arrives.
      </Text>
      {hasForm ? (
        <Suspense fallback={<Loading what="the form" rows={4} />}>
          <SendForm onSent={onSent} />
        </Suspense>
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
