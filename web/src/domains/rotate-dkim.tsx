/** The button and dialog that rotate the DKIM keys of a domain. The published DNS records do not change. */
import { useMutation } from "@connectrpc/connect-query";
import { Button, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { type Domain, DomainService } from "../../../src/gen/v1/domain_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { Confirm } from "../parts/confirm.tsx";

export function RotateDkim({ domain, onRotated }: { domain: Domain; onRotated(message: string): void }) {
  const [isConfirming, confirming] = useDisclosure(false);
  const rotation = useMutation(DomainService.method.rotateDkim, {
    onSuccess({ message }) {
      confirming.close();
      onRotated(message);
      void invalidate(DomainService.method.getDomain);
      void invalidate(DomainService.method.getDkimKeys);
    },
  });
  const openDialog = () => {
    rotation.reset();
    confirming.open();
  };
  return (
    <>
      <Button variant="default" onClick={openDialog}>
        Rotate keys
      </Button>
      <Confirm
        isOpen={isConfirming}
        title="Rotate the DKIM keys?"
        confirmLabel="Rotate keys"
        isHarmless
        isPending={rotation.isPending}
        error={rotation.error}
        onConfirm={() => rotation.mutate({ id: domain.id })}
        onClose={confirming.close}
      >
        <Text>
          Posthorn creates new keys for <strong>{domain.domain}</strong> and publishes them at the targets of your CNAME
          records. You do not have to change your DNS. A new key starts to sign when all resolvers can find it; the old
          key stays published for seven days.
        </Text>
      </Confirm>
    </>
  );
}
