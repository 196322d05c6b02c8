/** The dialogs with which an operator disables, enables and deletes a person. */
import { useMutation } from "@connectrpc/connect-query";
import { Checkbox, Text } from "@mantine/core";
import { useEffect, useState } from "react";
import { OperatorService, type PersonEntry } from "../../../src/gen/v1/operator_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { Confirm } from "../parts/confirm.tsx";
import { TypedConfirm } from "./typed-confirm.tsx";

type Dialog = { person: PersonEntry | undefined; onClose(): void };

const changed = () => invalidate(OperatorService.method.listPeople, OperatorService.method.listAllWorkspaces);

export function DisablePerson({ person, onClose }: Dialog) {
  const [revokeKeys, setRevokeKeys] = useRevokeKeys(person);
  const change = useMutation(OperatorService.method.disablePerson, {
    async onSuccess() {
      close();
      await changed();
    },
  });
  const close = () => {
    change.reset();
    onClose();
  };
  return (
    <Confirm
      isOpen={person !== undefined}
      title="Disable this person?"
      confirmLabel="Disable person"
      isPending={change.isPending}
      error={change.error}
      onConfirm={() => person && change.mutate({ id: person.id, revokeKeys })}
      onClose={close}
    >
      <Text>
        All sessions of <strong>{person?.email}</strong> end at once, and they cannot sign in until an operator enables
        them. Their data and their memberships stay.
      </Text>
      <RevokeKeys person={person} isChecked={revokeKeys} onChange={setRevokeKeys} />
    </Confirm>
  );
}

export function EnablePerson({ person, onClose }: Dialog) {
  const change = useMutation(OperatorService.method.enablePerson, {
    async onSuccess() {
      close();
      await changed();
    },
  });
  const close = () => {
    change.reset();
    onClose();
  };
  return (
    <Confirm
      isOpen={person !== undefined}
      title="Enable this person?"
      confirmLabel="Enable person"
      isHarmless
      isPending={change.isPending}
      error={change.error}
      onConfirm={() => person && change.mutate({ id: person.id })}
      onClose={close}
    >
      <Text>
        <strong>{person?.email}</strong> can sign in again.
      </Text>
    </Confirm>
  );
}

export function DeletePerson({ person, onClose }: Dialog) {
  const [revokeKeys, setRevokeKeys] = useRevokeKeys(person);
  const change = useMutation(OperatorService.method.deletePerson, {
    async onSuccess() {
      close();
      await changed();
    },
  });
  const close = () => {
    change.reset();
    onClose();
  };
  const email = person?.email ?? "";
  return (
    <TypedConfirm
      isOpen={person !== undefined}
      title="Delete this person?"
      label="Address of the person"
      expected={email}
      confirmLabel="Delete person"
      cancelLabel="Keep person"
      exportCommand={`posthorn people export ${email.includes("'") ? `"${email}"` : email} ./export`}
      isPending={change.isPending}
      error={change.error}
      onConfirm={() => person && change.mutate({ id: person.id, email, revokeKeys })}
      onClose={close}
    >
      <Text>
        The account of <strong>{email}</strong>, their memberships, and the mail that this service sent to them about
        the account are deleted. This cannot be undone.
      </Text>
      <RevokeKeys person={person} isChecked={revokeKeys} onChange={setRevokeKeys} />
    </TypedConfirm>
  );
}

/** A choice that starts unchecked for each person. */
function useRevokeKeys(person: PersonEntry | undefined) {
  const [isChecked, setIsChecked] = useState(false);
  const isOpen = person !== undefined;
  useEffect(() => {
    if (!isOpen) setIsChecked(false);
  }, [isOpen]);
  return [isChecked, setIsChecked] as const;
}

function RevokeKeys(props: { person: PersonEntry | undefined; isChecked: boolean; onChange(value: boolean): void }) {
  const keys = props.person?.validKeys ?? 0;
  if (keys === 0) return null;
  return (
    <Checkbox
      label={`Also revoke the ${keys === 1 ? "key" : `${keys} keys`} that they created`}
      description="Programs that use them can no longer call the API. Otherwise the keys stay valid."
      checked={props.isChecked}
      onChange={(event) => props.onChange(event.currentTarget.checked)}
    />
  );
}
