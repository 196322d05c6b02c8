/** The first steps of a workspace: own domain, DNS records, key, first email, its events, a webhook. */
import { useQuery } from "@connectrpc/connect-query";
import { Button, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { lazy, Suspense, useEffect, useRef } from "react";
import { DomainService } from "../../../src/gen/v1/domain_pb.ts";
import { EmailService } from "../../../src/gen/v1/email_pb.ts";
import { KeyService } from "../../../src/gen/v1/key_pb.ts";
import { WebhookService } from "../../../src/gen/v1/webhook_pb.ts";
import { useMayWrite } from "../api/session.ts";
import { AddDomainForm } from "../domains/add-domain.tsx";
import { Fresh } from "../parts/fresh.tsx";
import { Section } from "../parts/page.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { isEstablished, ownDomain, type Progress, progressOf, type StepId, stepIds } from "./progress.ts";
import { remember, useRemembered } from "./remembered.ts";
import { Step } from "./step.tsx";
import type { NewKey } from "./steps.tsx";

// Loaded when a step is opened: the first view stays small.
const load = () => import("./steps.tsx");
const VerifyStep = lazy(() => load().then((steps) => ({ default: steps.VerifyStep })));
const KeyStep = lazy(() => load().then((steps) => ({ default: steps.KeyStep })));
const SendStep = lazy(() => load().then((steps) => ({ default: steps.SendStep })));
const WatchStep = lazy(() => load().then((steps) => ({ default: steps.WatchStep })));
const WebhookStep = lazy(() => load().then((steps) => ({ default: steps.WebhookStep })));
const CreateWebhook = lazy(() =>
  import("../webhooks/create-webhook.tsx").then((dialogs) => ({ default: dialogs.CreateWebhook })),
);

const pollIntervalMs = 4_000;
const sentPollMs = 2_000;

/** The guide is shown from the first visit until the person dismisses it or finds all steps done. A workspace that sends already is not
 * guided. */
export function useGuide() {
  const remembered = useRemembered();
  const mayWrite = useMayWrite();
  const isWanted = mayWrite && remembered.state !== "dismissed";
  const emails = useQuery(
    EmailService.method.listEmails,
    { pageSize: 1 },
    { enabled: isWanted, refetchInterval: pollIntervalMs },
  );
  const { progress, queries } = useProgress(isWanted);
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isWanted || !progress) return;
    const isOver = isEstablished(progress, remembered) || progress.current === undefined;
    // Steps that become done while the guide is open stay visible.
    if (isOver && isFirst.current) remember({ state: "dismissed" });
    else if (remembered.state === undefined) remember({ state: "open" });
    isFirst.current = false;
  }, [isWanted, progress, remembered]);
  const isNew = emails.data && emails.data.data.length === 0;
  const isGuided = isWanted && (remembered.state === "open" || (isNew === true && progress === undefined));
  return { isNew, isGuided, progress, queries };
}

export type GuideState = ReturnType<typeof useGuide>;

type GuideProps = Pick<GuideState, "progress" | "queries"> & {
  /** True while the page shows a new key above the guide. */
  hasNewKey: boolean;
  onKeyCreated(key: NewKey): void;
};

/** Reads what the steps need. */
function useProgress(isWanted: boolean) {
  const polled = { enabled: isWanted, refetchInterval: pollIntervalMs };
  const remembered = useRemembered();
  const domains = useQuery(DomainService.method.listDomains, { page: 1, pageSize: 100 }, polled);
  const keys = useQuery(KeyService.method.listKeys, { pageSize: 100 }, { enabled: isWanted });
  const webhooks = useQuery(WebhookService.method.listWebhooks, {}, polled);
  const listed = domains.data?.data.map(({ id, domain, summary }) => ({
    id,
    domain,
    canSend: summary?.canSend === true,
  }));
  const own = listed && ownDomain(listed);
  const sent = useQuery(
    EmailService.method.listEmails,
    { domain: own?.domain ?? "", pageSize: 1 },
    { enabled: isWanted && own?.canSend === true && remembered.sentId === undefined, refetchInterval: sentPollMs },
  );
  const isReady = listed && keys.data && webhooks.data && (!own?.canSend || remembered.sentId || sent.data);
  const progress = isReady
    ? progressOf(
        {
          domains: listed,
          keys: keys.data.data.map(({ name, revokedAt }) => ({ name, isRevoked: revokedAt !== undefined })),
          hasWebhook: webhooks.data.data.length > 0,
          // Without a domain, the request of this query is the same as that of all emails.
          emailId: own?.canSend ? sent.data?.data[0]?.id : undefined,
        },
        remembered,
      )
    : undefined;
  return { progress, queries: [domains, keys, webhooks, sent] };
}

export function Guide(props: GuideProps) {
  const { progress, queries } = props;
  const failed = queries.find(({ data, error }) => error !== null && data === undefined);
  const [domains] = queries;
  return (
    <Section
      title="First steps"
      badge={domains && <Fresh query={domains} live />}
      actions={
        <Button variant="subtle" size="compact-sm" onClick={() => remember({ state: "dismissed" })}>
          Dismiss guide
        </Button>
      }
    >
      {progress ? (
        <Steps {...props} progress={progress} onDomainAdded={() => void domains?.refetch()} />
      ) : failed ? (
        <ProblemAlert error={failed.error} onRetry={() => void Promise.all(queries.map((query) => query.refetch()))} />
      ) : (
        <Loading what="the first steps" rows={6} height={40} />
      )}
    </Section>
  );
}

function Steps(props: Omit<GuideProps, "progress"> & { progress: Progress; onDomainAdded(): void }) {
  const { progress, hasNewKey, onKeyCreated, onDomainAdded } = props;
  const { done, current, domain, sentId } = progress;
  const [isCreatingWebhook, creatingWebhook] = useDisclosure(false);
  // The dialog stays mounted while it closes.
  const wasCreatingWebhook = useRef(false);
  if (isCreatingWebhook) wasCreatingWebhook.current = true;
  const count = stepIds.filter((id) => done[id]).length;
  const step = (id: StepId) => {
    const state: "done" | "now" | "later" = done[id] ? "done" : id === current ? "now" : "later";
    return { number: stepIds.indexOf(id) + 1, state };
  };
  const dismiss = () => remember({ state: "dismissed" });
  return (
    <>
      <Text c="dimmed">
        {current === undefined
          ? "All steps are done."
          : `From your own domain to events in your program. ${count} of ${stepIds.length} steps are done.`}
      </Text>
      <div className="guide-track" aria-hidden="true">
        <span style={{ width: `${(100 * count) / stepIds.length}%` }} />
      </div>
      <Suspense fallback={<Loading what="the step" rows={3} />}>
        <Stack component="ol" className="list" gap={0}>
          <Step {...step("domain")} title="Add your domain" note={domain?.domain}>
            <AddDomainForm onAdded={onDomainAdded} />
          </Step>
          <Step {...step("records")} title="Publish its DNS records" note={`${domain?.domain} can send.`}>
            {domain && <VerifyStep id={domain.id} />}
          </Step>
          <Step {...step("key")} title="Create an API key" note="Your program can use a key.">
            {domain && (
              <KeyStep
                onCreated={(secret) => onKeyCreated({ secret, domain: domain.domain })}
                onSkip={() => remember({ isKeySkipped: true })}
              />
            )}
          </Step>
          <Step {...step("send")} title="Send an email" note="Sent.">
            {domain && (
              <SendStep domain={domain.domain} hasCode={!hasNewKey} onSent={(id) => remember({ sentId: id })} />
            )}
          </Step>
          <Step {...step("events")} title="Watch its events" note="Each step of an email is an event.">
            {sentId !== undefined && <WatchStep id={sentId} onSeen={() => remember({ sentId, areEventsSeen: true })} />}
          </Step>
          <Step {...step("webhook")} title="Receive events in your program" note="Webhook created.">
            <WebhookStep onCreate={creatingWebhook.open} onFinish={dismiss} />
          </Step>
        </Stack>
      </Suspense>
      {current === undefined && (
        <Button onClick={dismiss} style={{ alignSelf: "flex-start" }}>
          Finish
        </Button>
      )}
      {/* Outside the step, which is done as soon as the webhook exists: the dialog must still show the secret. */}
      {wasCreatingWebhook.current && (
        <Suspense>
          <CreateWebhook isOpen={isCreatingWebhook} onClose={creatingWebhook.close} />
        </Suspense>
      )}
    </>
  );
}
