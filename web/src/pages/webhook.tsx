/** One webhook: its state, its acts, and the log of its deliveries. */
import { useInfiniteQuery, useQuery } from "@connectrpc/connect-query";
import { Alert, NativeSelect, Text } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { type Webhook, WebhookDeliveryStatus, WebhookService, WebhookStatus } from "../../../src/gen/v1/webhook_pb.ts";
import { Back } from "../parts/back.tsx";
import { Copyable } from "../parts/copy-button.tsx";
import { Fact, Facts } from "../parts/facts.tsx";
import { Mark } from "../parts/mark.tsx";
import { Page } from "../parts/page.tsx";
import { PagedList } from "../parts/paged-list.tsx";
import { ProblemAlert } from "../parts/problem-alert.tsx";
import { Section } from "../parts/section.tsx";
import { Loading } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { WriteOnly } from "../shell/write-only.tsx";
import { WebhookActions } from "../webhooks/actions.tsx";
import { DeliveryRow } from "../webhooks/delivery.tsx";
import { deliveryStatuses, deliveryWord, sayTypes, webhookWord } from "../webhooks/words.ts";

const route = getRouteApi("/webhooks/$id");
const back = <Back to="/webhooks">Webhooks</Back>;

export function WebhookPage() {
  const { id } = route.useParams();
  const query = useQuery(WebhookService.method.getWebhook, { id }, { refetchInterval: 10_000 });
  const webhook = query.data?.webhook;
  if (webhook) return <Shown key={id} webhook={webhook} />;
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

function Shown({ webhook }: { webhook: Webhook }) {
  return (
    <Page
      title="Webhook"
      mark={<Mark of={webhookWord(webhook)} />}
      back={back}
      actions={
        <WriteOnly>
          <WebhookActions webhook={webhook} />
        </WriteOnly>
      }
    >
      {webhook.status === WebhookStatus.DISABLED && (
        <Alert color="orange" title="Nothing is posted to it">
          <Text size="sm" className="wrap">
            {webhook.disabledReason} Enabling it goes on with events from then on; deliver those that were missed from
            the log below.
          </Text>
        </Alert>
      )}
      <Section title="About">
        <Facts>
          <Fact name="Address">
            <Copyable value={webhook.url} name="the address" />
          </Fact>
          <Fact name="Events">{sayTypes(webhook.eventTypes)}</Fact>
          <Fact name="Description">{webhook.description}</Fact>
          <Fact name="Webhook id">
            <Copyable value={webhook.id} name="the webhook id" />
          </Fact>
          <Fact name="Created">{webhook.createdAt && <Time at={webhook.createdAt} long />}</Fact>
          <Fact name="Failing since">{webhook.failingSince && <Time at={webhook.failingSince} long />}</Fact>
          <Fact name="The old secret signs until">
            {webhook.previousSecretExpiresAt && <Time at={webhook.previousSecretExpiresAt} long />}
          </Fact>
        </Facts>
      </Section>
      <Deliveries webhook={webhook} />
    </Page>
  );
}

const statusOptions = [
  { value: "0", label: "Any result" },
  ...deliveryStatuses.map((status) => ({ value: String(status), label: deliveryWord(status).word })),
];

function Deliveries({ webhook }: { webhook: Webhook }) {
  const [status, setStatus] = useState<WebhookDeliveryStatus>(WebhookDeliveryStatus.UNSPECIFIED);
  const query = useInfiniteQuery(
    WebhookService.method.listWebhookDeliveries,
    { webhookId: webhook.id, status, pageToken: "", pageSize: 50 },
    {
      pageParamKey: "pageToken",
      getNextPageParam: (page) => page.nextPageToken || undefined,
      refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) <= 2 ? 5_000 : false),
    },
  );
  const isAny = status === WebhookDeliveryStatus.UNSPECIFIED;
  return (
    <Section
      title="Deliveries"
      actions={
        <NativeSelect
          aria-label="Only with this result"
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
        empty={
          <Text c="dimmed">
            {isAny
              ? "Nothing has been posted yet. Send a test to see whether the endpoint answers."
              : "No delivery has this result."}
          </Text>
        }
      />
    </Section>
  );
}
