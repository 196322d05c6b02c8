/** Webhooks: see them, make one. */
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Button, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Link } from "@tanstack/react-router";
import { type Webhook, WebhookService } from "../../../src/gen/v1/webhook_pb.ts";
import { Mark } from "../parts/mark.tsx";
import { Page } from "../parts/page.tsx";
import { PagedList } from "../parts/paged-list.tsx";
import { Empty } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { WriteOnly } from "../shell/write-only.tsx";
import { CreateWebhook } from "../webhooks/create-webhook.tsx";
import { sayTypes, webhookWord } from "../webhooks/words.ts";

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
      intro="Each event is posted to the addresses you choose, signed so that your program can tell it is ours, and tried again for a day when it fails."
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
                <Button onClick={creating.open}>Create the first webhook</Button>
              </WriteOnly>
            }
          >
            There is no webhook yet. A program can also read events with StreamEvents, without an address of its own.
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
      <Mark of={webhookWord(webhook)} />
      <div className="middle">
        <Text fw={600} className="wrap">
          {webhook.url}
        </Text>
        <Text size="sm" c="dimmed" className="cut">
          {[webhook.description, sayTypes(webhook.eventTypes)].filter((part) => part !== "").join(" · ")}
        </Text>
      </div>
      <span className="aside">{webhook.createdAt && <Time at={webhook.createdAt} />}</span>
    </Link>
  );
}
