/** The fields of a webhook, for the dialogs that create and edit one. */
import { Chip, Group, Input, Stack } from "@mantine/core";
import { useState } from "react";
import { eventTypes } from "../events/describe.ts";
import { TextField } from "../parts/form.tsx";

export interface WebhookValues {
  url: string;
  eventTypes: string[];
  description: string;
}

export function useWebhookFields(start: WebhookValues) {
  const [values, setValues] = useState(start);
  return { values, change: (part: Partial<WebhookValues>) => setValues((before) => ({ ...before, ...part })) };
}

export function WebhookFields(props: {
  values: WebhookValues;
  change(part: Partial<WebhookValues>): void;
  errors: Record<string, string>;
}) {
  const { values, change, errors } = props;
  return (
    <Stack>
      <TextField
        label="URL"
        description="Posthorn posts signed events to this URL. Only https, unless the operator allows other addresses."
        placeholder="https://example.com/hooks/posthorn"
        value={values.url}
        onChange={(url) => change({ url })}
        error={errors.url}
        type="url"
        autoComplete="off"
        data-autofocus
        isRequired
      />
      <Input.Wrapper
        label="Events"
        labelElement="div"
        description="If you select none, all events are posted, including types that later versions add."
        error={errors.eventTypes}
      >
        <Group gap={6} mt="xs" role="group" aria-label="Events">
          <Chip.Group multiple value={values.eventTypes} onChange={(eventTypes) => change({ eventTypes })}>
            {eventTypes.map((type) => (
              <Chip key={type} value={type} size="xs">
                {type}
              </Chip>
            ))}
          </Chip.Group>
        </Group>
      </Input.Wrapper>
      <TextField
        label="Description"
        description="Optional."
        value={values.description}
        onChange={(description) => change({ description })}
        error={errors.description}
        maxLength={500}
      />
    </Stack>
  );
}
