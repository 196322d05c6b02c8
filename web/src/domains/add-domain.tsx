/** The dialog that registers a domain. */
import { Modal } from "@mantine/core";
import type { Domain } from "../../../src/gen/v1/domain_pb.ts";
import { AddDomainForm } from "./add-domain-form.tsx";

export function AddDomain(props: { isOpen: boolean; onClose(): void; onAdded(domain: Domain): void }) {
  return (
    <Modal opened={props.isOpen} onClose={props.onClose} title="Add domain">
      <AddDomainForm onAdded={props.onAdded} onCancel={props.onClose} />
    </Modal>
  );
}
