/** The dialog that chooses the metadata keys to count by, and when an alert is raised. */
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { Checkbox, Group, Modal, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { StatsService, type StatsSettings } from "../../../src/gen/v1/stats_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { Form, formErrors, TextField } from "../parts/form.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { type AlertFields, fieldsOf, requestOf } from "./settings.ts";

export function SettingsDialog({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  return (
    <Modal opened={isOpen} onClose={onClose} title="Alerts and metadata">
      <Loaded onClose={onClose} />
    </Modal>
  );
}

function Loaded({ onClose }: { onClose(): void }) {
  const query = useQuery(StatsService.method.getStatsSettings, {});
  if (query.isPending) return <Loading what="the settings" rows={3} height={56} />;
  if (!query.data?.settings) return <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />;
  return <Fields settings={query.data.settings} onClose={onClose} />;
}

function Fields({ settings, onClose }: { settings: StatsSettings; onClose(): void }) {
  const [fields, setFields] = useState(() => fieldsOf(settings));
  const update = useMutation(StatsService.method.updateStatsSettings, {
    onSuccess() {
      void invalidate(StatsService.method.getStatsSettings, StatsService.method.getStats);
      onClose();
    },
  });
  const { fields: errors, error } = formErrors(update.error);
  const change = (part: Partial<typeof fields>) => setFields({ ...fields, ...part });
  return (
    <Form
      submitLabel="Save changes"
      isPending={update.isPending}
      error={error}
      onSubmit={() => update.mutate(requestOf(fields))}
      onCancel={onClose}
    >
      <Text size="sm">
        An alert is an email to the owners and the event workspace.alert. It is raised when a rate of the last 24 hours
        is above its threshold, and again only after the rate has recovered.
      </Text>
      <AlertGroup
        name="Bounce rate"
        fields={fields.bounce}
        errors={errors}
        field="bounceAlert"
        onChange={(bounce) => change({ bounce })}
      />
      <AlertGroup
        name="Complaint rate"
        fields={fields.complaint}
        errors={errors}
        field="complaintAlert"
        onChange={(complaint) => change({ complaint })}
      />
      <TextField
        label="Metadata keys"
        description="Up to three, separated by commas, such as campaign, type. Mail is counted by them from now on."
        value={fields.keys}
        error={errors["metadataKeys.keys"]}
        onChange={(keys) => change({ keys })}
        isCode
      />
    </Form>
  );
}

function AlertGroup(props: {
  name: string;
  fields: AlertFields;
  errors: Record<string, string>;
  field: string;
  onChange(fields: AlertFields): void;
}) {
  const { name, fields, errors, field, onChange } = props;
  return (
    <Stack component="fieldset" gap="xs" className="plain">
      <legend className="hidden">{name}</legend>
      <Checkbox
        label={`Alert on ${name.toLowerCase()}`}
        checked={fields.isOn}
        onChange={(event) => onChange({ ...fields, isOn: event.currentTarget.checked })}
      />
      <Group grow align="flex-start">
        <TextField
          label="Threshold in %"
          value={fields.percent}
          error={errors[`${field}.rate`] && "Enter a percentage from 0 to 100, or nothing for the default."}
          disabled={!fields.isOn}
          onChange={(percent) => onChange({ ...fields, percent })}
          isCode
        />
        <TextField
          label="Minimum recipients"
          value={fields.minimum}
          error={errors[`${field}.minimumRecipients`]}
          disabled={!fields.isOn}
          onChange={(minimum) => onChange({ ...fields, minimum })}
          isCode
        />
      </Group>
    </Stack>
  );
}
