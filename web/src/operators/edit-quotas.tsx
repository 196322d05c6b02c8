/** The dialog with which an operator sets the quotas of a workspace. */
import { useMutation } from "@connectrpc/connect-query";
import { Modal, NativeSelect, Stack, Text } from "@mantine/core";
import { useEffect, useState } from "react";
import { QuotaKind } from "../../../src/gen/v1/event_pb.ts";
import { OperatorService, type WorkspaceEntry } from "../../../src/gen/v1/operator_pb.ts";
import { WorkspaceService } from "../../../src/gen/v1/workspace_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { Form, TextField } from "../parts/form.tsx";
import { bytesText, quotaNames, wholeNumber } from "../workspaces/quota-text.ts";

type By = "default" | "unlimited" | "limit";
type Field = { by: By; limit: string };

const choices: { value: By; label: string }[] = [
  { value: "default", label: "Service default" },
  { value: "unlimited", label: "Unlimited" },
  { value: "limit", label: "Custom limit" },
];

export function EditQuotas({ workspace, onClose }: { workspace: WorkspaceEntry | undefined; onClose(): void }) {
  const [fields, setFields] = useState<Record<number, Field>>({});
  const change = useMutation(OperatorService.method.setQuotas, {
    async onSuccess() {
      close();
      await invalidate(OperatorService.method.listAllWorkspaces, WorkspaceService.method.getQuotas);
    },
  });
  const close = () => {
    change.reset();
    onClose();
  };
  useEffect(() => setFields(workspace ? fieldsOf(workspace) : {}), [workspace]);
  const before: Record<number, Field> = workspace ? fieldsOf(workspace) : {};
  const submit = () => {
    const quotas = Object.entries(fields)
      .filter(([kind, field]) => !isSame(field, before[Number(kind)]))
      .map(([kind, field]) => ({ kind: Number(kind) as QuotaKind, change: changeOf(field) }));
    if (!workspace) return;
    if (quotas.length === 0) close();
    else change.mutate({ workspaceId: workspace.id, quotas });
  };
  return (
    <Modal opened={workspace !== undefined} onClose={close} title={`Quotas of ${workspace?.name ?? ""}`} size="lg">
      <Form
        submitLabel="Save quotas"
        isPending={change.isPending}
        error={change.error}
        onSubmit={submit}
        onCancel={close}
      >
        <Text size="sm" c="dimmed">
          An email counts once for each recipient. Stored content is in bytes.
        </Text>
        {workspace?.quotas.map(({ kind, used }) => (
          <QuotaField
            key={kind}
            kind={kind}
            used={used}
            field={fields[kind] ?? { by: "default", limit: "" }}
            onChange={(field) => setFields((all) => ({ ...all, [kind]: field }))}
          />
        ))}
      </Form>
    </Modal>
  );
}

function QuotaField(props: { kind: QuotaKind; used: number; field: Field; onChange(field: Field): void }) {
  const { kind, used, field, onChange } = props;
  const name = quotaNames[kind] ?? "Other";
  const amount = kind === QuotaKind.STORED_BYTES ? bytesText(used) : wholeNumber(used);
  return (
    <Stack gap={4}>
      <NativeSelect
        label={name}
        description={`${amount} used`}
        data={choices}
        value={field.by}
        onChange={(event) => onChange({ ...field, by: event.currentTarget.value as By })}
      />
      {field.by === "limit" && (
        <TextField
          aria-label={`Limit of ${name}`}
          value={field.limit}
          onChange={(limit) => onChange({ ...field, limit })}
          inputMode="numeric"
          pattern="[0-9]{1,15}"
          title="A whole number"
          isRequired
          isCode
        />
      )}
    </Stack>
  );
}

function fieldsOf({ quotas, ownQuotas }: WorkspaceEntry): Record<number, Field> {
  return Object.fromEntries(
    quotas.map(({ kind, limit }): [number, Field] => {
      const text = limit === undefined ? "" : String(limit);
      if (!ownQuotas.includes(kind)) return [kind, { by: "default", limit: text }];
      return [kind, { by: limit === undefined ? "unlimited" : "limit", limit: text }];
    }),
  );
}

function isSame(field: Field, before: Field | undefined): boolean {
  return field.by === before?.by && (field.by !== "limit" || field.limit === before.limit);
}

function changeOf({ by, limit }: Field) {
  if (by === "limit") return { case: "limit", value: Number(limit) } as const;
  return by === "unlimited"
    ? ({ case: "unlimited", value: true } as const)
    : ({ case: "useDefault", value: true } as const);
}
