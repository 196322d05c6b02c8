/** Leads an empty workspace by the hand: a domain, its records, a key, a first email, its events. */
import { useQuery } from "@connectrpc/connect-query";
import { Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { DomainService } from "../../../src/gen/v1/domain_pb.ts";
import { EmailService } from "../../../src/gen/v1/email_pb.ts";
import { KeyService } from "../../../src/gen/v1/key_pb.ts";
import { useMayWrite } from "../api/session.ts";
import { AddDomainForm } from "../domains/add-domain.tsx";
import { SendForm } from "../emails/send-form.tsx";
import { CreateKey } from "../keys/create-key.tsx";
import { ProblemAlert } from "../parts/problem-alert.tsx";
import { Section } from "../parts/section.tsx";
import { Loading } from "../parts/states.tsx";
import { Step } from "./step.tsx";
import { KeyStep, VerifyStep, WatchStep } from "./steps.tsx";

const lookEveryMs = 4_000;

/** Nothing once the workspace has sent its first email, unless that was just now and here. */
export function useGuide() {
  const emails = useQuery(EmailService.method.listEmails, { pageSize: 5 }, { refetchInterval: lookEveryMs });
  const [sentId, setSentId] = useState<string>();
  const mayWrite = useMayWrite();
  const isNew = emails.data?.data.length === 0;
  return { emails, sentId, setSentId, isGuided: mayWrite && (isNew || sentId !== undefined) };
}

export function Guide({ sentId, onSent }: { sentId: string | undefined; onSent(id: string): void }) {
  const domains = useQuery(
    DomainService.method.listDomains,
    { page: 1, pageSize: 100 },
    { refetchInterval: lookEveryMs },
  );
  const keys = useQuery(KeyService.method.listKeys, { pageSize: 20 });
  const [isCreating, creating] = useDisclosure(false);
  const [isPastKey, setIsPastKey] = useState(false);
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
  const hasKey = keys.data.data.some(({ revokedAt }) => revokedAt === undefined) || isPastKey;
  const isSent = sentId !== undefined;
  const done = [newest !== undefined, canSend, hasKey, isSent, false];
  const current = done.indexOf(false);
  const stateOf = (place: number) => (done[place] ? "done" : place === current ? "now" : "later");
  return (
    <Section title="First steps">
      <Text c="dimmed">From nothing to a delivered email. This guide goes away once you have sent one.</Text>
      <Stack component="ol" className="list" gap={0}>
        <Step number={1} title="Add a domain that you send from" state={stateOf(0)} note={newest?.domain}>
          <AddDomainForm onAdded={() => void domains.refetch()} />
        </Step>
        <Step number={2} title="Publish its DNS records and check them" state={stateOf(1)} note="A domain can send.">
          {newest && <VerifyStep id={newest.id} />}
        </Step>
        <Step number={3} title="Make a key for your program" state={stateOf(2)} note="There is a key.">
          <KeyStep onCreate={creating.open} onSkip={() => setIsPastKey(true)} />
        </Step>
        <Step number={4} title="Send a test email" state={stateOf(3)} note="Sent.">
          <SendForm onSent={onSent} />
        </Step>
        <Step number={5} title="Watch what happens to it" state={stateOf(4)}>
          {sentId !== undefined && <WatchStep id={sentId} />}
        </Step>
      </Stack>
      {/* Beside the steps: the secret must outlive its step, which is done as soon as there is a key. */}
      <CreateKey isOpen={isCreating} onClose={creating.close} />
    </Section>
  );
}
