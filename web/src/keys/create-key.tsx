/** The dialog that creates a key: first a form, then the secret, which is shown only once. */
import { useMutation } from "@connectrpc/connect-query";
import { Checkbox, Radio, Stack } from "@mantine/core";
import { useState } from "react";
import { KeyService } from "../../../src/gen/v1/key_pb.ts";
import { KeyPermission } from "../../../src/gen/v1/options_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { Form, formErrors, TextField } from "../parts/form.tsx";
import { SecretOnce } from "../parts/secret-once.tsx";
import { permissions } from "./permissions.ts";

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
  const [domain, setDomain] = useState("");
  const [isTest, setIsTest] = useState(false);
  const creation = useMutation(KeyService.method.createKey, {
    // The response contains the secret, so it must not stay in the mutation cache.
    gcTime: 0,
    onSuccess({ secret }) {
      void invalidate(KeyService.method.listKeys);
      onCreated(secret);
    },
  });
  const submit = () => {
    const onlyDomain = permission === KeyPermission.SEND ? domain.trim() : "";
    creation.mutate({ name, permission, domain: onlyDomain, test: isTest });
  };
  const { fields, error } = formErrors(creation.error);
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
        error={fields.permission}
      >
        <Stack gap="xs" mt="xs">
          {permissions.map(({ value, name, meaning }) => (
            <Radio key={value} value={String(value)} label={name} description={meaning} />
          ))}
        </Stack>
      </Radio.Group>
      {permission === KeyPermission.SEND && (
        <TextField
          label="Restrict to domain"
          description="Optional. The key can send only from this domain."
          placeholder="example.com"
          value={domain}
          onChange={setDomain}
          error={fields.domain}
          isCode
        />
      )}
      <Checkbox
        label="Test key"
        description="Its emails do not leave the machine; their outcomes are simulated."
        checked={isTest}
        onChange={(event) => setIsTest(event.currentTarget.checked)}
      />
    </Form>
  );
}
