/** One delivery of one event: what was posted, what came back, and the way to post it again. */
import { useMutation } from "@connectrpc/connect-query";
import { Button, Group, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { type WebhookDelivery, WebhookService } from "../../../src/gen/v1/webhook_pb.ts";
import { changed } from "../api/changed.ts";
import { Fact, Facts } from "../parts/facts.tsx";
import { AnchorLink } from "../parts/links.tsx";
import { Mark } from "../parts/mark.tsx";
import { ProblemAlert } from "../parts/problem-alert.tsx";
import { TextBlock } from "../parts/text-block.tsx";
import { Time } from "../parts/time.tsx";
import { WriteOnly } from "../shell/write-only.tsx";
import { deliveryWord } from "./words.ts";

export function DeliveryRow({ delivery, canRedeliver }: { delivery: WebhookDelivery; canRedeliver: boolean }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details onToggle={(change) => setIsOpen(change.currentTarget.open)}>
      <summary className="row">
        <Mark of={deliveryWord(delivery.status)} />
        <span className="middle">
          <Text size="sm" fw={600} component="span" display="block" className="wrap">
            {delivery.eventType}
            {delivery.cursor === "" && " (test)"}
          </Text>
          <Text size="sm" c="dimmed" component="span" display="block" className="cut">
            {outcomeOf(delivery)}
          </Text>
        </span>
        <span className="aside">{delivery.createdAt && <Time at={delivery.createdAt} />}</span>
      </summary>
      {isOpen && (
        <Stack p="md" pt={0}>
          <DeliveryDetail delivery={delivery} />
          {canRedeliver && delivery.cursor !== "" && (
            <WriteOnly>
              <Redeliver delivery={delivery} />
            </WriteOnly>
          )}
        </Stack>
      )}
    </details>
  );
}

function outcomeOf({ attempts, responseStatus, error }: WebhookDelivery): string {
  if (attempts === 0) return "not tried yet";
  const tries = attempts === 1 ? "1 attempt" : `${attempts} attempts`;
  return [tries, responseStatus > 0 ? `HTTP ${responseStatus}` : "", error].filter((part) => part !== "").join(" · ");
}

export function DeliveryDetail({ delivery }: { delivery: WebhookDelivery }) {
  return (
    <Stack gap="sm">
      <Facts>
        <Fact name="Result">
          <Mark of={deliveryWord(delivery.status)} />
        </Fact>
        <Fact name="Attempts">{String(delivery.attempts)}</Fact>
        <Fact name="HTTP status">{delivery.responseStatus > 0 && String(delivery.responseStatus)}</Fact>
        <Fact name="Took">{delivery.attempts > 0 && `${delivery.durationMs} ms`}</Fact>
        <Fact name="Problem">{delivery.error}</Fact>
        <Fact name="Last attempt">{delivery.lastAttemptAt && <Time at={delivery.lastAttemptAt} long />}</Fact>
        <Fact name="Next attempt">{delivery.nextAttemptAt && <Time at={delivery.nextAttemptAt} long />}</Fact>
        <Fact name="Event">{delivery.eventId}</Fact>
        <Fact name="Email">
          {delivery.emailId !== "" && delivery.cursor !== "" && (
            <AnchorLink to="/emails/$id" params={{ id: delivery.emailId }}>
              {delivery.emailId}
            </AnchorLink>
          )}
        </Fact>
      </Facts>
      {delivery.payload !== "" && (
        <>
          <Text size="sm" fw={600}>
            What is posted
          </Text>
          <TextBlock text={pretty(delivery.payload)} label="What is posted" maxHeight={280} />
        </>
      )}
      {delivery.responseHead !== "" && (
        <>
          <Text size="sm" fw={600}>
            What the endpoint answered
          </Text>
          <TextBlock text={delivery.responseHead} label="What the endpoint answered" maxHeight={200} />
        </>
      )}
    </Stack>
  );
}

function Redeliver({ delivery }: { delivery: WebhookDelivery }) {
  const again = useMutation(WebhookService.method.redeliverWebhook, {
    onSuccess: () => void changed(WebhookService.method.listWebhookDeliveries),
  });
  return (
    <Group gap="sm">
      <Button
        size="xs"
        variant="default"
        loading={again.isPending}
        onClick={() => again.mutate({ webhookId: delivery.webhookId, deliveryId: delivery.id })}
      >
        Deliver again
      </Button>
      {again.error ? (
        <ProblemAlert error={again.error} />
      ) : (
        <Text size="sm" role="status">
          {again.data?.message}
        </Text>
      )}
    </Group>
  );
}

function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
