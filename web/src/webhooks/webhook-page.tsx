/** The page of one webhook: its state, its actions, and the log of its deliveries. */
import { useInfiniteQuery, useQuery } from "@connectrpc/connect-query";
import { NativeSelect, Text } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { type Webhook, WebhookDeliveryStatus, WebhookService, WebhookStatus } from "../../../src/gen/v1/webhook_pb.ts";
import { Copyable } from "../parts/copy-button.tsx";
import { Fresh, type FreshQuery } from "../parts/fresh.tsx";
import { StatusBadge } from "../parts/icons.tsx";
import { isLive } from "../parts/live-pages.ts";
import { Say } from "../parts/outcome.tsx";
import { Back, Fact, Facts, Page, Section } from "../parts/page.tsx";
import { PagedList } from "../parts/paged-list.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { WriteOnly } from "../shell/write-only.tsx";
import { WebhookActions } from "./actions.tsx";
import { DeliveryRow } from "./delivery.tsx";
import { deliveryLabel, deliveryStatuses, formatEventTypes, summaryOf, webhookLabel } from "./labels.ts";
import { VerifySnippets } from "./verify-snippets.tsx";

const route = getRouteApi("/webhooks/$id");
const back = <Back to="/webhooks">Webhooks</Back>;

export function WebhookPage() {
  const { id } = route.useParams();
  const query = useQuery(WebhookService.method.getWebhook, { id }, { refetchInterval: 10_000 });
  const webhook = query.data?.webhook;
  if (webhook) return <WebhookDetails key={id} webhook={webhook} query={query} />;
  return (
    <Page title="Webhook" back={back}>
      {query.isPending ? (
        <Loading what="the webhook" rows={3} height={140} />
      ) : (
        <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />
      )}
    </Page>
  );
}

function WebhookDetails({ webhook, query }: { webhook: Webhook; query: FreshQuery }) {
  const summary = summaryOf(webhook);
  return (
    <Page
      title="Webhook"
      badge={
        <>
          <StatusBadge of={webhookLabel(webhook)} />
          <Fresh query={query} live />
        </>
      }
      back={back}
      actions={
        <WriteOnly>
          <WebhookActions webhook={webhook} />
        </WriteOnly>
      }
    >
      <Say tone={summary.tone} title={summary.title}>
        {summary.when && (
          <>
            {summary.when.text} <Time at={summary.when.at} />.{" "}
          </>
        )}
        {summary.text}
      </Say>
      <Section title="Details">
        <Facts>
          <Fact name="URL">
            <Copyable value={webhook.url} name="the URL" />
          </Fact>
          <Fact name="Events">{formatEventTypes(webhook.eventTypes)}</Fact>
          <Fact name="Description">{webhook.description}</Fact>
          <Fact name="Webhook id">
            <Copyable value={webhook.id} name="the webhook id" />
          </Fact>
          <Fact name="Created">{webhook.createdAt && <Time at={webhook.createdAt} long />}</Fact>
          <Fact name="Last success">{webhook.lastSuccessAt && <Time at={webhook.lastSuccessAt} long />}</Fact>
          <Fact name="Last failure">{webhook.lastFailureAt && <Time at={webhook.lastFailureAt} long />}</Fact>
          <Fact name="Failing since">{webhook.failingSince && <Time at={webhook.failingSince} long />}</Fact>
          <Fact name="Old secret valid until">
            {webhook.previousSecretExpiresAt && <Time at={webhook.previousSecretExpiresAt} long />}
          </Fact>
        </Facts>
      </Section>
      <Deliveries webhook={webhook} />
      <Section title="Verify the signature">
        <VerifySnippets />
      </Section>
    </Page>
  );
}

const statusOptions = [
  { value: "0", label: "Any result" },
  ...deliveryStatuses.map((status) => ({ value: String(status), label: deliveryLabel(status).text })),
];

function Deliveries({ webhook }: { webhook: Webhook }) {
  const [status, setStatus] = useState<WebhookDeliveryStatus>(WebhookDeliveryStatus.UNSPECIFIED);
  const query = useInfiniteQuery(
    WebhookService.method.listWebhookDeliveries,
    { webhookId: webhook.id, status, pageToken: "", pageSize: 50 },
    {
      pageParamKey: "pageToken",
      getNextPageParam: (page) => page.nextPageToken || undefined,
      refetchInterval: ({ state }) => (isLive(state.data) ? 4_000 : false),
    },
  );
  const isAny = status === WebhookDeliveryStatus.UNSPECIFIED;
  return (
    <Section
      title="Deliveries"
      badge={<Fresh query={query} live={isLive(query.data)} />}
      actions={
        <NativeSelect
          aria-label="Filter by result"
          size="xs"
          data={statusOptions}
          value={String(status)}
          onChange={(event) => setStatus(Number(event.currentTarget.value) as WebhookDeliveryStatus)}
        />
      }
    >
      <PagedList
        query={query}
        what="the deliveries"
        label="Deliveries, newest first"
        keyOf={(delivery) => delivery.id}
        row={(delivery) => <DeliveryRow delivery={delivery} canRedeliver={webhook.status === WebhookStatus.ENABLED} />}
        framed
        onRequest
        empty={
          <Text c="dimmed">
            {isAny
              ? "No deliveries yet. Send a test event to check that the endpoint responds."
              : "No deliveries have this result."}
          </Text>
        }
      />
    </Section>
  );
}
