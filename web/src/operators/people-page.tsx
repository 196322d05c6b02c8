/** The people of the whole service, for operators: search, disable, enable and delete. */
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Button, Group, NativeSelect, SimpleGrid, Text } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useState } from "react";
import { OperatorService, type PersonEntry, PersonState } from "../../../src/gen/v1/operator_pb.ts";
import { useSession } from "../api/session.ts";
import { StatusBadge } from "../parts/icons.tsx";
import { PagedList } from "../parts/paged-list.tsx";
import { Empty } from "../parts/states.tsx";
import { TextFilter } from "../parts/text-filter.tsx";
import { Time } from "../parts/time.tsx";
import { OperatorPage } from "./operator-page.tsx";
import { DeletePerson, DisablePerson, EnablePerson } from "./person-dialogs.tsx";

const route = getRouteApi("/operator/people");

type Action = { kind: "disable" | "enable" | "delete"; person: PersonEntry };

export function OperatorPeoplePage() {
  const [action, setAction] = useState<Action>();
  const close = () => setAction(undefined);
  const personFor = (kind: Action["kind"]) => (action?.kind === kind ? action.person : undefined);
  return (
    <OperatorPage title="People" intro="All accounts of this service, in all workspaces.">
      <Listed onAct={setAction} />
      <DisablePerson person={personFor("disable")} onClose={close} />
      <EnablePerson person={personFor("enable")} onClose={close} />
      <DeletePerson person={personFor("delete")} onClose={close} />
    </OperatorPage>
  );
}

const stateOptions = [
  { value: "", label: "Any state" },
  { value: String(PersonState.ACTIVE), label: "Active" },
  { value: String(PersonState.DISABLED), label: "Disabled" },
];

function Listed({ onAct }: { onAct(action: Action): void }) {
  const { q = "", state = "" } = route.useSearch();
  const { caller } = useSession();
  const ownId = caller?.kind === "person" ? caller.person.id : undefined;
  const navigate = route.useNavigate();
  const change = useCallback(
    (part: { q?: string; state?: string }) =>
      void navigate({ search: (before) => ({ ...before, ...part }), replace: true, resetScroll: false }),
    [navigate],
  );
  const query = useInfiniteQuery(
    OperatorService.method.listPeople,
    { query: q, state: (Number(state) || 0) as PersonState, pageToken: "", pageSize: 50 },
    { pageParamKey: "pageToken", getNextPageParam: (page) => page.nextPageToken || undefined },
  );
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm" component="search" aria-label="People">
        <TextFilter
          label="Search"
          placeholder="Part of an address or a name"
          value={q}
          onChange={(q) => change({ q })}
        />
        <NativeSelect
          label="State"
          data={stateOptions}
          value={state}
          onChange={(event) => change({ state: event.currentTarget.value })}
        />
      </SimpleGrid>
      <PagedList
        query={query}
        what="the people"
        label="People, newest first"
        keyOf={(person) => person.id}
        row={(person) => <Row person={person} isSelf={person.id === ownId} onAct={onAct} />}
        framed
        isFresh
        empty={
          <Empty action={<Button onClick={() => change({ q: "", state: "" })}>Clear filters</Button>}>
            No people match.
          </Empty>
        }
      />
    </>
  );
}

function Row({ person, isSelf, onAct }: { person: PersonEntry; isSelf: boolean; onAct(action: Action): void }) {
  const isDisabled = person.state === PersonState.DISABLED;
  const { workspaces, workspaceCount } = person;
  const more = workspaceCount - workspaces.length;
  return (
    <div className="row">
      <StatusBadge of={isDisabled ? { text: "Disabled", color: "red" } : { text: "Active", color: "gray" }} />
      <div className="middle">
        <Text fw={560} className="wrap">
          {person.email}
          {isSelf && " (you)"}
        </Text>
        <Text size="sm" c="dimmed" className="wrap">
          {person.name}
          {person.isOperator && " · operator"}
          {person.createdAt && (
            <>
              {" · signed up "}
              <Time at={person.createdAt} />
            </>
          )}
        </Text>
        <Text size="sm" c="dimmed" className="wrap">
          {workspaces.length === 0 ? "No workspace" : workspaces.map(({ name }) => name).join(", ")}
          {more > 0 && ` and ${more} more`}
        </Text>
      </div>
      {!isSelf && (
        <Group className="aside" justify="flex-end" gap="xs">
          <Button
            variant="default"
            size="compact-sm"
            onClick={() => onAct({ kind: isDisabled ? "enable" : "disable", person })}
            aria-label={`${isDisabled ? "Enable" : "Disable"} ${person.email}`}
          >
            {isDisabled ? "Enable" : "Disable"}
          </Button>
          <Button
            variant="default"
            size="compact-sm"
            onClick={() => onAct({ kind: "delete", person })}
            aria-label={`Delete ${person.email}`}
          >
            Delete
          </Button>
        </Group>
      )}
    </div>
  );
}
