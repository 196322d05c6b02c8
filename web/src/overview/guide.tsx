/** The guide for an empty workspace (domain, DNS records, key, first email, events), and an example call for the overview. */
import { useQuery } from "@connectrpc/connect-query";
import { Group, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { DomainService } from "../../../src/gen/v1/domain_pb.ts";
import { EmailService } from "../../../src/gen/v1/email_pb.ts";
import { KeyService } from "../../../src/gen/v1/key_pb.ts";
import { useMayWrite } from "../api/session.ts";
import { AddDomainForm } from "../domains/add-domain.tsx";
import { SendForm } from "../emails/send-form.tsx";
import { CreateKey } from "../keys/create-key.tsx";
import { CopyButton } from "../parts/copy-button.tsx";
import { Section, TextBlock } from "../parts/page.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { Step } from "./step.tsx";
import { KeyStep, VerifyStep, WatchStep } from "./steps.tsx";

const pollIntervalMs = 4_000;

/** The guide is shown until the workspace has sent its first email. It stays if the email was sent with the guide. */
export function useGuide() {
  const emails = useQuery(EmailService.method.listEmails, { pageSize: 5 }, { refetchInterval: pollIntervalMs });
  const [sentId, setSentId] = useState<string>();
  const mayWrite = useMayWrite();
  const isNew = emails.data?.data.length === 0;
  return { emails, sentId, setSentId, isGuided: mayWrite && (isNew || sentId !== undefined) };
}

export function Guide({ sentId, onSent }: { sentId: string | undefined; onSent(id: string): void }) {
  const domains = useQuery(
    DomainService.method.listDomains,
    { page: 1, pageSize: 100 },
    { refetchInterval: pollIntervalMs },
  );
  const keys = useQuery(KeyService.method.listKeys, { pageSize: 20 });
  const [isCreating, creating] = useDisclosure(false);
  const [isKeySkipped, setIsKeySkipped] = useState(false);
  const error = domains.error ?? keys.error;
  const retry = () => void Promise.all([domains.refetch(), keys.refetch()]);
  if (domains.isPending || keys.isPending)
    return (
      <Section title="First steps">
        <Loading what="the first steps" rows={5} height={48} />
      </Section>
    );
  if (!domains.data || !keys.data)
    return (
      <Section title="First steps">
        <ProblemAlert error={error} onRetry={retry} />
      </Section>
    );
  const all = domains.data.data;
  const newest = all[0];
  const canSend = all.some(({ summary }) => summary?.canSend);
  const hasKey = keys.data.data.some(({ revokedAt }) => revokedAt === undefined) || isKeySkipped;
  const isSent = sentId !== undefined;
  const done = [newest !== undefined, canSend, hasKey, isSent, false];
  const current = done.indexOf(false);
  const stateOf = (step: number) => (done[step] ? "done" : step === current ? "now" : "later");
  return (
    <Section title="First steps">
      <Text c="dimmed">Five steps to your first delivered email. This guide disappears after you send it.</Text>
      <Stack component="ol" className="list" gap={0}>
        <Step number={1} title="Add a sending domain" state={stateOf(0)} note={newest?.domain}>
          <AddDomainForm onAdded={() => void domains.refetch()} />
        </Step>
        <Step number={2} title="Publish and check its DNS records" state={stateOf(1)} note="A domain can send.">
          {newest && <VerifyStep id={newest.id} />}
        </Step>
        <Step number={3} title="Create an API key for your program" state={stateOf(2)} note="Key created.">
          <KeyStep onCreate={creating.open} onSkip={() => setIsKeySkipped(true)} />
        </Step>
        <Step number={4} title="Send a test email" state={stateOf(3)} note="Sent.">
          <SendForm onSent={onSent} />
        </Step>
        <Step number={5} title="Watch its events" state={stateOf(4)}>
          {sentId !== undefined && <WatchStep id={sentId} />}
        </Step>
      </Stack>
      {/* Outside the steps: step 3 is done as soon as the key exists, but the dialog must still show the secret. */}
      <CreateKey isOpen={isCreating} onClose={creating.close} />
    </Section>
  );
}

/** An example call that can be copied. */
export function CallExample({ domain }: { domain: string }) {
  const email = { from: `hello@${domain}`, to: ["delivered@there.test"], subject: "Hello", body: "It works." };
  const call = [
    `curl ${location.origin}/v1.EmailService/SendEmail`,
    `-H "Authorization: Bearer $POSTHORN_KEY"`,
    `-H "Connect-Protocol-Version: 1"`,
    `-H "Content-Type: application/json"`,
    `-d '${JSON.stringify(email)}'`,
  ].join(" \\\n  ");
  return (
    <Section title="Send from your program" actions={<CopyButton value={call} name="the example call" />}>
      <Group gap="xs">
        <Text>Every API method is called in the same way:</Text>
      </Group>
      <TextBlock text={call} label="Example call" />
    </Section>
  );
}
