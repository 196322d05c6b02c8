/** The dialog that confirms the deletion of a domain. */
import { useMutation } from "@connectrpc/connect-query";
import { Text } from "@mantine/core";
import { type Domain, DomainService } from "../../../src/gen/v1/domain_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { Confirm } from "../parts/confirm.tsx";

export function DeleteDomain(props: { domain: Domain; isOpen: boolean; onClose(): void; onDeleted(): void }) {
  const { domain } = props;
  const removal = useMutation(DomainService.method.deleteDomain, {
    onSuccess() {
      props.onDeleted();
      void invalidate(DomainService.method.listDomains);
    },
  });
  return (
    <Confirm
      isOpen={props.isOpen}
      title="Delete this domain?"
      confirmLabel="Delete domain"
      cancelLabel="Keep domain"
      isPending={removal.isPending}
      error={removal.error}
      onConfirm={() => removal.mutate({ id: domain.id })}
      onClose={props.onClose}
    >
      <Text>
        New emails from <strong>{domain.domain}</strong> will be rejected. Mail that was already accepted is still
        signed and delivered. Keep its DNS records for seven more days.
      </Text>
      <Text>If you add the domain again later, it gets new records that you have to publish.</Text>
    </Confirm>
  );
}
