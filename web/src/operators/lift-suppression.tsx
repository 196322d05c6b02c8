/** The dialog with which an operator lets an address get mail of the service again. */
import { useMutation } from "@connectrpc/connect-query";
import { Text } from "@mantine/core";
import { OperatorService } from "../../../src/gen/v1/operator_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { Confirm } from "../parts/confirm.tsx";

export function LiftSuppression({ address, onClose }: { address: string | undefined; onClose(): void }) {
  const change = useMutation(OperatorService.method.removeSystemSuppression, {
    async onSuccess() {
      close();
      await invalidate(OperatorService.method.listSystemMail);
    },
  });
  const close = () => {
    change.reset();
    onClose();
  };
  return (
    <Confirm
      isOpen={address !== undefined}
      title="Remove this suppression?"
      confirmLabel="Remove suppression"
      isHarmless
      isPending={change.isPending}
      error={change.error}
      onConfirm={() => address && change.mutate({ address })}
      onClose={close}
    >
      <Text>
        <strong>{address}</strong> bounced or complained. Do this when its owner says that the mailbox works. Mail that
        was not sent is not sent later: ask the person to request a new link.
      </Text>
    </Confirm>
  );
}
