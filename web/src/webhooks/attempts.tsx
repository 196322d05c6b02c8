/** The attempts of one delivery, newest first: what was sent, what the endpoint answered, and how long it took. */
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Button, Group, Stack, Text } from "@mantine/core";
import { useEffect, useRef } from "react";
import { type WebhookDelivery, WebhookDeliveryStatus, WebhookService } from "../../../src/gen/v1/webhook_pb.ts";
import { Fresh } from "../parts/fresh.tsx";
import { Mark } from "../parts/outcome.tsx";
import { TextBlock } from "../parts/page.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { listAttempts, type ShownAttempt } from "./attempt-list.ts";
import "./webhooks.css";

export function Attempts({ delivery }: { delivery: WebhookDelivery }) {
  const isQueued = delivery.status === WebhookDeliveryStatus.QUEUED;
  const query = useInfiniteQuery(
    WebhookService.method.listWebhookAttempts,
    { webhookId: delivery.webhookId, deliveryId: delivery.id, pageToken: "", pageSize: 20 },
    {
      pageParamKey: "pageToken",
      getNextPageParam: (page) => page.nextPageToken || undefined,
      refetchInterval: isQueued ? 3_000 : false,
    },
  );
  // The last attempt ends the polling, so it is read when the delivery counts it.
  const { refetch } = query;
  const counted = useRef(delivery.attempts);
  useEffect(() => {
    if (counted.current === delivery.attempts) return;
    counted.current = delivery.attempts;
    void refetch();
  }, [delivery.attempts, refetch]);
  if (query.isPending) return <Loading what="the attempts" rows={2} height={32} />;
  const kept = query.data?.pages.flatMap((page) => page.data) ?? [];
  const { shown, missing } = listAttempts(delivery, kept, query.hasNextPage);
  return (
    <Stack gap="xs">
      <Group gap="sm">
        <Text size="sm" fw={600}>
          Attempts
        </Text>
        <Fresh query={query} live={isQueued} />
      </Group>
      {query.error && <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />}
      {shown.length > 0 && (
        <ol className="list framed attempts" aria-label="Attempts, newest first">
          {shown.map((attempt, place) => (
            <li key={attempt.number}>
              <AttemptRow attempt={attempt} isOpen={place === 0} />
            </li>
          ))}
        </ol>
      )}
      {shown.length === 0 && (
        <Text size="sm">{isQueued ? "No attempt yet." : `No attempt was made: ${delivery.error}.`}</Text>
      )}
      {missing > 0 && (
        <Text size="sm" c="dimmed">
          {missing === 1 ? "1 earlier attempt has" : `${missing} earlier attempts have`} no details, because an earlier
          version of the server made {missing === 1 ? "it" : "them"}.
        </Text>
      )}
      {query.hasNextPage && (
        <Button
          size="xs"
          variant="default"
          loading={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
          style={{ alignSelf: "flex-start" }}
        >
          Show earlier attempts
        </Button>
      )}
    </Stack>
  );
}

function AttemptRow({ attempt, isOpen }: { attempt: ShownAttempt; isOpen: boolean }) {
  const { number, responseStatus, error, durationMs, attemptedAt, request, response } = attempt;
  return (
    <details open={isOpen}>
      <summary className="row">
        <Mark tone={error === "" ? "delivered" : "failed"}>
          {responseStatus > 0 ? `HTTP ${responseStatus}` : "No answer"}
        </Mark>
        <span className="middle cut">
          Attempt {number}
          {error !== "" && <span className="faint"> · {error}</span>}
        </span>
        <span className="aside num">
          {durationMs.toLocaleString("en")} ms · {attemptedAt && <Time at={attemptedAt} />}
        </span>
      </summary>
      <div className="exchange">
        <Part
          name="Request"
          text={request ?? ""}
          empty={request === undefined ? "An earlier version of the server did not keep it." : "No request was made."}
        />
        <Part name="Response" text={response} empty={error || "The endpoint sent nothing."} />
      </div>
    </details>
  );
}

function Part({ name, text, empty }: { name: string; text: string; empty: string }) {
  return (
    <div>
      <Text size="xs" fw={560} c="dimmed">
        {name}
      </Text>
      {text === "" ? <Text size="sm">{empty}</Text> : <TextBlock text={text} label={name} maxHeight={220} />}
    </div>
  );
}
