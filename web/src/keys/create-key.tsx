/** The dialog that creates a key: first a form, then the secret, which is shown only once. */
import { useMutation } from "@connectrpc/connect-query";
import { Checkbox, Radio, Stack } from "@mantine/core";
import { useState } from "react";
import { KeyService } from "../../../src/gen/v1/key_pb.ts";
import { KeyPermission, KeyScope } from "../../../src/gen/v1/options_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { Form, formErrors, TextField } from "../parts/form.tsx";
import { SecretOnce } from "../parts/secret-once.tsx";
import { LimitFields, limitsOnWire, noLimits } from "./limit-fields.tsx";
import { permissions } from "./permissions.ts";
import { ScopeField } from "./scope-field.tsx";

export function CreateKey({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  return (
    <SecretOnce
      isOpen={isOpen}
      onClose={onClose}
      title="Create API key"
      createdTitle="Key created"
      label="API key"
      form={(onCreated, onCancel) => <KeyForm onCreated={onCreated} onCancel={onCancel} />}
    />
  );
}

function KeyForm({ onCreated, onCancel }: { onCreated: (secret: string) => void; onCancel: () => void }) {
  const [name, setName] = useState("");
  const [permission, setPermission] = useState<KeyPermission>(permissions[0].value);
  const [chosen, setChosen] = useState<KeyScope[]>([]);
  const [limits, setLimits] = useState(noLimits);
  const [isTest, setIsTest] = useState(false);
  const creation = useMutation(KeyService.method.createKey, {
    // The response contains the secret, so it must not stay in the mutation cache.
    gcTime: 0,
    onSuccess({ secret }) {
      void invalidate(KeyService.method.listKeys);
      onCreated(secret);
    },
  });
  const isScoped = permission === KeyPermission.UNSPECIFIED;
  const canSend = isScoped ? chosen.includes(KeyScope.SEND) : permission !== KeyPermission.READ;
  const submit = () => {
    const wire = { ...limitsOnWire(limits, canSend), scopes: isScoped ? chosen : [] };
    creation.mutate({ name, permission, test: isTest, ...wire });
  };
  const { fields, error } = formErrors(creation.error);
  const scopeError = isScoped && fields.permission ? "Select at least one scope." : undefined;
  return (
    <Form submitLabel="Create key" isPending={creation.isPending} error={error} onSubmit={submit} onCancel={onCancel}>
      <TextField
        label="Name"
        description="For example, the program that uses the key."
        value={name}
        onChange={setName}
        error={fields.name}
        maxLength={100}
        autoComplete="off"
        data-autofocus
        isRequired
      />
      <Radio.Group
        label="Permission"
        value={String(permission)}
        onChange={(value) => setPermission(Number(value) as KeyPermission)}
        error={isScoped ? undefined : fields.permission}
      >
        <Stack gap="xs" mt="xs">
          {permissions.map(({ value, name, meaning }) => (
            <Radio key={value} value={String(value)} label={name} description={meaning} />
          ))}
        </Stack>
      </Radio.Group>
      {isScoped && <ScopeField value={chosen} onChange={setChosen} error={scopeError} />}
      <LimitFields
        value={limits}
        onChange={(part) => setLimits({ ...limits, ...part })}
        errors={fields}
        canSend={canSend}
      />
      <Checkbox
        label="Test key"
        description="Emails are not delivered; their outcomes are simulated."
        checked={isTest}
        onChange={(event) => setIsTest(event.currentTarget.checked)}
      />
    </Form>
  );
}
