/** The list of webhooks, with a dialog to create one. */
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Button, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Link } from "@tanstack/react-router";
import { type Webhook, WebhookService } from "../../../src/gen/v1/webhook_pb.ts";
import { Fresh } from "../parts/fresh.tsx";
import { StatusBadge } from "../parts/icons.tsx";
import { Page } from "../parts/page.tsx";
import { PagedList } from "../parts/paged-list.tsx";
import { Empty } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { WriteOnly } from "../shell/write-only.tsx";
import { CreateWebhook } from "./create-webhook.tsx";
import { formatEventTypes, webhookLabel } from "./labels.ts";

export function WebhooksPage() {
  const [isCreating, creating] = useDisclosure(false);
  const query = useInfiniteQuery(
    WebhookService.method.listWebhooks,
    { pageToken: "", pageSize: 50 },
    { pageParamKey: "pageToken", getNextPageParam: (page) => page.nextPageToken || undefined, refetchInterval: 15_000 },
  );
  return (
    <Page
      title="Webhooks"
      badge={<Fresh query={query} live />}
      intro="Posthorn posts each event to your endpoints, with a signature that your program can verify. Failed deliveries are retried for about a day."
      actions={
        <WriteOnly>
          <Button onClick={creating.open}>Create webhook</Button>
        </WriteOnly>
      }
    >
      <PagedList
        query={query}
        what="the webhooks"
        label="Webhooks, newest first"
        keyOf={(webhook) => webhook.id}
        row={(webhook) => <Row webhook={webhook} />}
        framed
        empty={
          <Empty
            action={
              <WriteOnly>
                <Button onClick={creating.open}>Create your first webhook</Button>
              </WriteOnly>
            }
          >
            No webhooks yet. Create one to get events at your endpoint. Without an endpoint, a program can read events
            with StreamEvents.
          </Empty>
        }
      />
      <CreateWebhook isOpen={isCreating} onClose={creating.close} />
    </Page>
  );
}

function Row({ webhook }: { webhook: Webhook }) {
  return (
    <Link to="/webhooks/$id" params={{ id: webhook.id }} className="row">
      <StatusBadge of={webhookLabel(webhook)} />
      <div className="middle">
        <Text fw={600} className="wrap">
          {webhook.url}
        </Text>
        <Text size="sm" c="dimmed" className="cut">
          {[webhook.description, formatEventTypes(webhook.eventTypes)].filter((part) => part !== "").join(" · ")}
        </Text>
      </div>
      <span className="aside">{webhook.createdAt && <Time at={webhook.createdAt} />}</span>
    </Link>
  );
}
