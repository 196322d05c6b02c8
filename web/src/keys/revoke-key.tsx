/** The dialog that confirms the revocation of a key. */
import { useMutation } from "@connectrpc/connect-query";
import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useEffect } from "react";
import { type Key, KeyService } from "../../../src/gen/v1/key_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { endSession, isOwnKey } from "../api/session.ts";
import { ProblemAlert } from "../parts/states.tsx";

export function RevokeKey({ subject, onClose }: { subject: Key | undefined; onClose: () => void }) {
  const isOwn = subject !== undefined && isOwnKey(subject.prefix);
  const revocation = useMutation(KeyService.method.revokeKey, {
    onSuccess() {
      onClose();
      if (!isOwn) return invalidate(KeyService.method.listKeys);
      endSession("You revoked the key that you were signed in with.");
    },
  });
  const { reset } = revocation;
  // The error of a previous attempt must not appear for another key.
  useEffect(() => {
    if (subject) reset();
  }, [subject, reset]);
  return (
    <Modal opened={subject !== undefined} onClose={onClose} title="Revoke this key?">
      <Stack>
        <Text style={{ overflowWrap: "anywhere" }}>
          The server will reject every call with <strong>{subject?.name}</strong> ({subject?.prefix}…), and open event
          streams end. This cannot be undone.
        </Text>
        {isOwn && <Text fw={600}>You are signed in with this key and will be signed out.</Text>}
        {revocation.error && <ProblemAlert error={revocation.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            Keep key
          </Button>
          <Button
            color="red"
            loading={revocation.isPending}
            onClick={() => subject && revocation.mutate({ id: subject.id })}
          >
            Revoke key
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
