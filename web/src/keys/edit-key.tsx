/** The dialog that changes the name, the end and the limits of a key. */
import { useMutation } from "@connectrpc/connect-query";
import { Modal } from "@mantine/core";
import { useState } from "react";
import { type Key, KeyService } from "../../../src/gen/v1/key_pb.ts";
import { KeyPermission, KeyScope } from "../../../src/gen/v1/options_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { Form, formErrors, TextField } from "../parts/form.tsx";
import { changeOnWire, LimitFields, limitsOf } from "./limit-fields.tsx";
import { configuredKeyName } from "./permissions.ts";
import { ScopeField } from "./scope-field.tsx";

export function EditKey({ subject, onClose }: { subject: Key | undefined; onClose: () => void }) {
  return (
    <Modal opened={subject !== undefined} onClose={onClose} title="Edit key">
      {subject && <EditForm subject={subject} onClose={onClose} />}
    </Modal>
  );
}

function EditForm({ subject, onClose }: { subject: Key; onClose: () => void }) {
  const [name, setName] = useState(subject.name);
  const [scopes, setScopes] = useState<KeyScope[]>(subject.scopes);
  const [limits, setLimits] = useState(() => limitsOf(subject));
  const [isWithoutScope, setIsWithoutScope] = useState(false);
  const change = useMutation(KeyService.method.updateKey, {
    onSuccess() {
      onClose();
      return invalidate(KeyService.method.listKeys);
    },
  });
  const isScoped = subject.scopes.length > 0;
  const canSend = isScoped ? scopes.includes(KeyScope.SEND) : subject.permission !== KeyPermission.READ;
  const submit = () => {
    // An empty list would mean no change.
    setIsWithoutScope(isScoped && scopes.length === 0);
    if (isScoped && scopes.length === 0) return;
    change.mutate({ id: subject.id, name, scopes, ...changeOnWire(limits, canSend) });
  };
  const { fields, error } = formErrors(change.error);
  return (
    <Form submitLabel="Save changes" isPending={change.isPending} error={error} onSubmit={submit} onCancel={onClose}>
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        error={fields.name}
        maxLength={100}
        autoComplete="off"
        disabled={subject.name === configuredKeyName}
        data-autofocus
        isRequired
      />
      {isScoped && (
        <ScopeField
          value={scopes}
          onChange={setScopes}
          error={isWithoutScope ? "Select at least one scope." : undefined}
        />
      )}
      <LimitFields
        value={limits}
        onChange={(part) => setLimits({ ...limits, ...part })}
        errors={fields}
        canSend={canSend}
        subject={subject}
      />
    </Form>
  );
}
