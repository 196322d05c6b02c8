/** The dialog that rotates a key: first the overlap, then the secret of the new key, which is shown only once. */
import { useMutation } from "@connectrpc/connect-query";
import { NativeSelect, Text } from "@mantine/core";
import { useState } from "react";
import { type Key, KeyService } from "../../../src/gen/v1/key_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { isOwnKey } from "../api/session.ts";
import { Form } from "../parts/form.tsx";
import { SecretOnce } from "../parts/secret-once.tsx";

const overlaps = [
  { value: "3600", label: "1 hour" },
  { value: "86400", label: "24 hours" },
  { value: "604800", label: "7 days" },
  { value: "2592000", label: "30 days" },
  { value: "0", label: "No overlap: revoke the old key now" },
];

export function RotateKey({ subject, onClose }: { subject: Key | undefined; onClose: () => void }) {
  return (
    <SecretOnce
      isOpen={subject !== undefined}
      onClose={onClose}
      title="Rotate key"
      createdTitle="Key rotated"
      label="New API key"
      form={(onCreated, onCancel) =>
        subject && <OverlapForm subject={subject} onCreated={onCreated} onCancel={onCancel} />
      }
    />
  );
}

function OverlapForm(props: { subject: Key; onCreated: (secret: string) => void; onCancel: () => void }) {
  const { subject, onCreated, onCancel } = props;
  const [overlap, setOverlap] = useState("86400");
  const rotation = useMutation(KeyService.method.rotateKey, {
    // The response contains the secret, so it must not stay in the mutation cache.
    gcTime: 0,
    onSuccess({ secret }) {
      void invalidate(KeyService.method.listKeys);
      onCreated(secret);
    },
  });
  return (
    <Form
      submitLabel="Rotate key"
      isPending={rotation.isPending}
      error={rotation.error}
      onSubmit={() => rotation.mutate({ id: subject.id, overlapSeconds: Number(overlap) })}
      onCancel={onCancel}
    >
      <Text style={{ overflowWrap: "anywhere" }}>
        A new key with the same settings replaces <strong>{subject.name}</strong> ({subject.prefix}…). Both keys work
        until the overlap ends, so that you can replace the key in your programs.
      </Text>
      <NativeSelect
        label="Overlap"
        description="How long the old key still works."
        data={overlaps}
        value={overlap}
        onChange={(event) => setOverlap(event.currentTarget.value)}
        data-autofocus
      />
      {isOwnKey(subject.prefix) && (
        <Text fw={600}>You are signed in with this key. Sign in with the new one before the overlap ends.</Text>
      )}
    </Form>
  );
}
