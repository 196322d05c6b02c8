/** The list of webhooks, with a dialog to create one. */
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { WebhookService } from "../../../src/gen/v1/webhook_pb.ts";
import { Fresh } from "../parts/fresh.tsx";
import { Page } from "../parts/page.tsx";
import { Empty, Loading, ProblemAlert } from "../parts/states.tsx";
import { WriteOnly } from "../shell/write-only.tsx";
import { CreateWebhook } from "./create-webhook.tsx";
import { WebhookTable } from "./webhook-table.tsx";

export function WebhooksPage() {
  const [isCreating, creating] = useDisclosure(false);
  const query = useInfiniteQuery(
    WebhookService.method.listWebhooks,
    { pageToken: "", pageSize: 50 },
    { pageParamKey: "pageToken", getNextPageParam: (page) => page.nextPageToken || undefined, refetchInterval: 15_000 },
  );
  const webhooks = query.data?.pages.flatMap((page) => page.data) ?? [];
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
      {query.isPending && <Loading what="the webhooks" />}
      {query.error && <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />}
      {webhooks.length > 0 && <WebhookTable webhooks={webhooks} />}
      {query.data && webhooks.length === 0 && (
        <Empty
          title="No webhooks yet"
          drawing={<EndpointDrawing />}
          action={
            <WriteOnly>
              <Button onClick={creating.open}>Create your first webhook</Button>
            </WriteOnly>
          }
        >
          Create one to get events at your endpoint. Without an endpoint, a program can read events with StreamEvents.
        </Empty>
      )}
      {query.hasNextPage && (
        <Button
          variant="default"
          style={{ alignSelf: "center" }}
          loading={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          Show more
        </Button>
      )}
      <CreateWebhook isOpen={isCreating} onClose={creating.close} />
    </Page>
  );
}

/** An envelope on its way to a server. */
function EndpointDrawing() {
  return (
    <svg className="empty-drawing" width="132" height="84" viewBox="0 0 132 84" aria-hidden="true" focusable="false">
      <path className="line" d="M14 74h104" />
      <rect className="sheet" x="16" y="34" width="40" height="28" rx="4" />
      <path className="line" d="M17 37l19 14 19-14" />
      <path className="dashes" d="M62 42h14M62 48h18M62 54h14" />
      <rect className="sheet" x="86" y="20" width="32" height="54" rx="4" />
      <path className="line" d="M92 32h20M92 42h20M92 52h20" />
      <circle className="horn" cx="102" cy="64" r="3" />
    </svg>
  );
}
