/** Shows the first steps of a workspace: own domain, DNS records, key, first email, its events, a webhook. */
import { Button, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { lazy, Suspense } from "react";
import { AddDomainForm } from "../domains/add-domain-form.tsx";
import { Fresh } from "../parts/fresh.tsx";
import { Section } from "../parts/page.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { useLateDialog } from "../parts/use-late-dialog.ts";
import { type Progress, type StepId, stepIds } from "./progress.ts";
import { remember } from "./remembered.ts";
import { Step } from "./step.tsx";
import type { NewKey } from "./steps.tsx";
import type { GuideState } from "./use-guide.ts";

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

type GuideProps = Pick<GuideState, "progress" | "queries"> & {
  /** True while the page shows a new key above the guide. */
  hasNewKey: boolean;
  onKeyCreated(key: NewKey): void;
};

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
  const wasCreatingWebhook = useLateDialog(isCreatingWebhook);
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
      {wasCreatingWebhook && (
        <Suspense>
          <CreateWebhook isOpen={isCreatingWebhook} onClose={creatingWebhook.close} />
        </Suspense>
      )}
    </>
  );
}
