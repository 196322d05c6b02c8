/** The attempts of one delivery, newest first: what was sent, what the endpoint answered, and how long it took. */
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Button, Stack, Text } from "@mantine/core";
import {
  type WebhookAttempt,
  type WebhookDelivery,
  WebhookDeliveryStatus,
  WebhookService,
} from "../../../src/gen/v1/webhook_pb.ts";
import { Mark } from "../parts/outcome.tsx";
import { TextBlock } from "../parts/page.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import "./webhooks.css";

export function Attempts({ delivery }: { delivery: WebhookDelivery }) {
  const query = useInfiniteQuery(
    WebhookService.method.listWebhookAttempts,
    { webhookId: delivery.webhookId, deliveryId: delivery.id, pageToken: "", pageSize: 20 },
    {
      pageParamKey: "pageToken",
      getNextPageParam: (page) => page.nextPageToken || undefined,
      refetchInterval: delivery.status === WebhookDeliveryStatus.QUEUED ? 3_000 : false,
    },
  );
  const attempts = query.data?.pages.flatMap((page) => page.data) ?? [];
  if (query.isPending) return <Loading what="the attempts" rows={2} height={32} />;
  return (
    <Stack gap="xs">
      <Text size="sm" fw={600}>
        Attempts
      </Text>
      {query.error && <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />}
      {attempts.length > 0 && (
        <ol className="list framed attempts" aria-label="Attempts, newest first">
          {attempts.map((attempt, place) => (
            <li key={attempt.number}>
              <AttemptRow attempt={attempt} isOpen={place === 0} />
            </li>
          ))}
        </ol>
      )}
      {query.data && attempts.length === 0 && <Text size="sm">{withoutAttempts(delivery)}</Text>}
      {query.hasNextPage && (
        <Button size="xs" variant="default" onClick={() => void query.fetchNextPage()}>
          Show earlier attempts
        </Button>
      )}
    </Stack>
  );
}

function withoutAttempts({ attempts }: WebhookDelivery): string {
  return attempts === 0
    ? "No attempt yet."
    : "The details of these attempts were not kept: they are from an earlier version of the server.";
}

function AttemptRow({ attempt, isOpen }: { attempt: WebhookAttempt; isOpen: boolean }) {
  const { number, responseStatus, error, durationMs, attemptedAt } = attempt;
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
        <Part name="Request" text={requestOf(attempt)} empty="No request was made." />
        <Part
          name="Response"
          text={[attempt.responseHeaders, attempt.responseBody].filter((part) => part !== "").join("\n\n")}
          empty={error || "The endpoint sent nothing."}
        />
      </div>
    </details>
  );
}

function requestOf({ url, requestHeaders }: WebhookAttempt): string {
  return requestHeaders === "" ? "" : `POST ${url}\n${requestHeaders}`;
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
