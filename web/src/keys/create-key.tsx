/** Makes a key: a form, then its secret, shown this once and gone from the page when the dialogue closes. */
import { useMutation } from "@connectrpc/connect-query";
import { Checkbox, Radio, Stack } from "@mantine/core";
import { useState } from "react";
import { KeyService } from "../../../src/gen/v1/key_pb.ts";
import { KeyPermission } from "../../../src/gen/v1/options_pb.ts";
import { changed } from "../api/changed.ts";
import { Form, refusals, TextField } from "../parts/form.tsx";
import { SecretOnce } from "../parts/secret-once.tsx";
import { permissions } from "./permissions.ts";

export function CreateKey({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  return (
    <SecretOnce
      isOpen={isOpen}
      onClose={onClose}
      title="Create a key"
      madeTitle="The key is made"
      label="API key"
      form={(onMade, onCancel) => <KeyForm onMade={onMade} onCancel={onCancel} />}
    />
  );
}

function KeyForm({ onMade, onCancel }: { onMade: (secret: string) => void; onCancel: () => void }) {
  const [name, setName] = useState("");
  const [permission, setPermission] = useState<KeyPermission>(permissions[0].value);
  const [domain, setDomain] = useState("");
  const [isTest, setIsTest] = useState(false);
  const creation = useMutation(KeyService.method.createKey, {
    // The answer holds the secret: it must not stay in the cache of mutations.
    gcTime: 0,
    onSuccess({ secret }) {
      void changed(KeyService.method.listKeys);
      onMade(secret);
    },
  });
  const submit = () => {
    const pinned = permission === KeyPermission.SEND ? domain.trim() : "";
    creation.mutate({ name, permission, domain: pinned, test: isTest });
  };
  const { fields, error } = refusals(creation.error);
  return (
    <Form act="Create key" isPending={creation.isPending} error={error} onSubmit={submit} onCancel={onCancel}>
      <TextField
        label="Name"
        description="By which you will recognise it, such as the program that uses it."
        value={name}
        onChange={setName}
        error={fields.name}
        maxLength={100}
        autoComplete="off"
        data-autofocus
        isNeeded
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
          label="Only from this domain"
          description="Optional. The key can then send from no other domain of the workspace."
          placeholder="example.com"
          value={domain}
          onChange={setDomain}
          error={fields.domain}
          isCode
        />
      )}
      <Checkbox
        label="Test key"
        description="Nothing that it sends leaves the machine; outcomes are simulated."
        checked={isTest}
        onChange={(event) => setIsTest(event.currentTarget.checked)}
      />
    </Form>
  );
}
