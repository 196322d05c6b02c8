/** Replaces the DKIM keys of a domain; nothing has to be published. */
import { useMutation } from "@connectrpc/connect-query";
import { Button, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { type Domain, DomainService } from "../../../src/gen/v1/domain_pb.ts";
import { changed } from "../api/changed.ts";
import { Confirm } from "../parts/confirm.tsx";

export function RotateDkim({ domain, onSaid }: { domain: Domain; onSaid(text: string): void }) {
  const [isAsking, asking] = useDisclosure(false);
  const rotation = useMutation(DomainService.method.rotateDkim, {
    onSuccess({ message }) {
      asking.close();
      onSaid(message);
      void changed(DomainService.method.getDomain);
    },
  });
  const ask = () => {
    rotation.reset();
    asking.open();
  };
  return (
    <>
      <Button variant="default" onClick={ask}>
        Rotate keys
      </Button>
      <Confirm
        isOpen={isAsking}
        title="Replace the DKIM keys?"
        act="Rotate keys"
        isHarmless
        isPending={rotation.isPending}
        error={rotation.error}
        onConfirm={() => rotation.mutate({ id: domain.id })}
        onClose={asking.close}
      >
        <Text>
          New keys are made for <strong>{domain.domain}</strong> and served at the names that your CNAME records point
          to; you publish nothing. A new key signs once resolvers can know it, and the old one stays served for seven
          days.
        </Text>
      </Confirm>
    </>
  );
}
