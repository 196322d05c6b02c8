/** The passkeys of the signed-in person: add, rename, remove. */
import { Button, Group, Modal, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { auth } from "../api/auth.ts";
import { type Factors, type Passkey, refreshFactors } from "../api/factors.ts";
import { canUsePasskeys, createPasskey } from "../api/passkey.ts";
import { Confirm } from "../parts/confirm.tsx";
import { Form, formErrors, TextField } from "../parts/form.tsx";
import { DateTime } from "../parts/time.tsx";
import { FactorKind } from "./factor-kind.tsx";
import { PasskeyHint } from "./passkey-hint.tsx";
import { useAuth } from "./sign-in-form.tsx";

type Dialog = { kind: "add" } | { kind: "rename" | "remove"; passkey: Passkey };

export function Passkeys({ factors, onChanged }: { factors: Factors; onChanged(codes?: string[]): void }) {
  const [dialog, setDialog] = useState<Dialog>();
  const close = () => setDialog(undefined);
  const { passkeys, passkeyOrigin } = factors;
  return (
    <FactorKind
      title="Passkeys"
      action={
        canUsePasskeys(passkeyOrigin) && (
          <Button variant="default" size="xs" onClick={() => setDialog({ kind: "add" })}>
            Add passkey
          </Button>
        )
      }
    >
      <Text size="sm">
        Sign in with your fingerprint, face or PIN. A passkey is stored on your device or on a security key.
      </Text>
      <PasskeyHint origin={passkeyOrigin} path={location.pathname} />
      {passkeys.length > 0 && (
        <ul className="plain" aria-label="Your passkeys">
          {passkeys.map((passkey) => (
            <li key={passkey.id}>
              <Row passkey={passkey} onOpen={(kind) => setDialog({ kind, passkey })} />
            </li>
          ))}
        </ul>
      )}
      <Modal opened={dialog?.kind === "add"} onClose={close} title="Add a passkey">
        <Add
          count={passkeys.length}
          onDone={(codes) => {
            close();
            onChanged(codes);
          }}
          onCancel={close}
        />
      </Modal>
      <Modal opened={dialog?.kind === "rename"} onClose={close} title="Rename passkey">
        {dialog?.kind === "rename" && <Rename passkey={dialog.passkey} onDone={close} />}
      </Modal>
      <Remove
        passkey={dialog?.kind === "remove" ? dialog.passkey : undefined}
        onDone={() => {
          close();
          onChanged();
        }}
        onClose={close}
      />
    </FactorKind>
  );
}

function Row({ passkey, onOpen }: { passkey: Passkey; onOpen(kind: "rename" | "remove"): void }) {
  return (
    <Group justify="space-between" gap="xs">
      <div>
        <Text fw={600} className="wrap">
          {passkey.name}
        </Text>
        <Text size="sm" c="dimmed">
          Added <DateTime at={passkey.createdAt} />
          {passkey.lastUsedAt && (
            <>
              , last used <DateTime at={passkey.lastUsedAt} />
            </>
          )}
        </Text>
      </div>
      <Group gap="xs">
        <Button variant="default" size="xs" onClick={() => onOpen("rename")} aria-label={`Rename ${passkey.name}`}>
          Rename
        </Button>
        <Button variant="default" size="xs" onClick={() => onOpen("remove")} aria-label={`Remove ${passkey.name}`}>
          Remove
        </Button>
      </Group>
    </Group>
  );
}

function Add(props: { count: number; onDone(codes: string[]): void; onCancel(): void }) {
  const [name, setName] = useState(`Passkey ${props.count + 1}`);
  const adding = useMutation({
    gcTime: 0,
    mutationFn: async () =>
      await auth<{ recoveryCodes: string[] }>("add-passkey", { name, credential: await createPasskey() }),
    onSuccess: ({ recoveryCodes }) => props.onDone(recoveryCodes),
  });
  const { fields, error } = formErrors(adding.error);
  return (
    <Form
      submitLabel="Create passkey"
      isPending={adding.isPending}
      error={error}
      onSubmit={() => adding.mutate()}
      onCancel={props.onCancel}
    >
      <NameField value={name} onChange={setName} error={fields.name} />
      <Text size="sm">Your browser will ask where to save it.</Text>
    </Form>
  );
}

function Rename({ passkey, onDone }: { passkey: Passkey; onDone(): void }) {
  const [name, setName] = useState(passkey.name);
  const { send, isPending, fields, error } = useAuth("rename-passkey", async () => {
    await refreshFactors();
    onDone();
  });
  return (
    <Form
      submitLabel="Rename passkey"
      isPending={isPending}
      error={error}
      onSubmit={() => send({ id: passkey.id, name })}
      onCancel={onDone}
    >
      <NameField value={name} onChange={setName} error={fields.name} />
    </Form>
  );
}

function NameField(props: { value: string; onChange(value: string): void; error?: string }) {
  return (
    <TextField
      label="Name"
      description="The device or security key that holds it, for example “Work laptop”."
      {...props}
      maxLength={60}
      autoComplete="off"
      data-autofocus
      isRequired
    />
  );
}

function Remove(props: { passkey: Passkey | undefined; onDone(): void; onClose(): void }) {
  const { passkey } = props;
  const { send, isPending, error } = useAuth("remove-passkey", props.onDone);
  return (
    <Confirm
      isOpen={passkey !== undefined}
      title="Remove this passkey?"
      confirmLabel="Remove passkey"
      isPending={isPending}
      error={error}
      onConfirm={() => passkey && send({ id: passkey.id })}
      onClose={props.onClose}
    >
      <Text>
        <strong>{passkey?.name}</strong> will no longer sign you in. Delete it from your device as well.
      </Text>
    </Confirm>
  );
}
