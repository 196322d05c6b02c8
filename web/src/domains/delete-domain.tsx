/** Asks before a domain is removed, and says what that does. */
import { useMutation } from "@connectrpc/connect-query";
import { Text } from "@mantine/core";
import { type Domain, DomainService } from "../../../src/gen/v1/domain_pb.ts";
import { changed } from "../api/changed.ts";
import { Confirm } from "../parts/confirm.tsx";

export function DeleteDomain(props: { domain: Domain; isOpen: boolean; onClose(): void; onDeleted(): void }) {
  const { domain } = props;
  const removal = useMutation(DomainService.method.deleteDomain, {
    onSuccess() {
      props.onDeleted();
      void changed(DomainService.method.listDomains);
    },
  });
  return (
    <Confirm
      isOpen={props.isOpen}
      title="Delete this domain?"
      act="Delete domain"
      keep="Keep it"
      isPending={removal.isPending}
      error={removal.error}
      onConfirm={() => removal.mutate({ id: domain.id })}
      onClose={props.onClose}
    >
      <Text>
        New emails from <strong>{domain.domain}</strong> are refused from now on. Mail that was already accepted is
        still signed and delivered; leave its records in DNS for seven more days.
      </Text>
      <Text>Registering it again later brings new records, which must be published anew.</Text>
    </Confirm>
  );
}
