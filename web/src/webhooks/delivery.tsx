/** One delivery of an event: its result, the request, the response, and a button to redeliver it. */
import { useMutation } from "@connectrpc/connect-query";
import { Button, Group, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { type WebhookDelivery, WebhookService } from "../../../src/gen/v1/webhook_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { StatusBadge } from "../parts/icons.tsx";
import { AnchorLink } from "../parts/links.tsx";
import { Fact, Facts, TextBlock } from "../parts/page.tsx";
import { ProblemAlert } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { WriteOnly } from "../shell/write-only.tsx";
import { Attempts } from "./attempts.tsx";
import { deliveryLabel } from "./labels.ts";
import { addressesOf, prettyJson } from "./payload.ts";

export function DeliveryRow({ delivery, canRedeliver }: { delivery: WebhookDelivery; canRedeliver: boolean }) {
  const [isOpen, setIsOpen] = useState(false);
  const addresses = addressesOf(delivery.payload);
  return (
    <details onToggle={(change) => setIsOpen(change.currentTarget.open)}>
      <summary className="row">
        <StatusBadge of={deliveryLabel(delivery.status)} />
        <span className="middle">
          <Text size="sm" fw={600} component="span" display="block" className="wrap">
            {delivery.eventType}
            {delivery.cursor === "" && " (test)"}
            {addresses.length > 0 && <span className="faint"> {addressText(addresses)}</span>}
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

function addressText([first, ...others]: string[]): string {
  return others.length === 0 ? first! : `${first} and ${others.length} more`;
}

function outcomeOf({ attempts, responseStatus, error }: WebhookDelivery): string {
  if (attempts === 0) return error || "not attempted yet";
  const attemptsText = attempts === 1 ? "1 attempt" : `${attempts} attempts`;
  return [attemptsText, responseStatus > 0 ? `HTTP ${responseStatus}` : "", error]
    .filter((part) => part !== "")
    .join(" · ");
}

export function DeliveryDetail({ delivery }: { delivery: WebhookDelivery }) {
  return (
    <Stack gap="sm">
      <Facts>
        <Fact name="Result">
          <StatusBadge of={deliveryLabel(delivery.status)} />
        </Fact>
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
      <Attempts delivery={delivery} />
      {delivery.payload !== "" && (
        <>
          <Group gap="xs">
            <Text size="sm" fw={600}>
              Request body
            </Text>
            <Text size="sm" c="dimmed">
              formatted for reading
            </Text>
            <CopyButton value={delivery.payload} name="the body as it was sent" />
          </Group>
          <TextBlock text={prettyJson(delivery.payload)} label="Request body" maxHeight={280} />
        </>
      )}
    </Stack>
  );
}

function Redeliver({ delivery }: { delivery: WebhookDelivery }) {
  const redelivery = useMutation(WebhookService.method.redeliverWebhook, {
    onSuccess: () => void invalidate(WebhookService.method.listWebhookDeliveries),
  });
  return (
    <Group gap="sm">
      <Button
        size="xs"
        variant="default"
        loading={redelivery.isPending}
        onClick={() => redelivery.mutate({ webhookId: delivery.webhookId, deliveryId: delivery.id })}
      >
        Redeliver event
      </Button>
      {redelivery.error ? (
        <ProblemAlert error={redelivery.error} />
      ) : (
        <Text size="sm" role="status">
          {redelivery.data?.message}
        </Text>
      )}
    </Group>
  );
}
