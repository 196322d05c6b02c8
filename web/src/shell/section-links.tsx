/** The navigation: the sections in their groups, with live numbers. Numbers that are no longer true disappear, and a line says why. */
import { Link } from "@tanstack/react-router";
import { isUnanswered } from "../api/problem.ts";
import { useSession } from "../api/session.ts";
import { clockText } from "../parts/date-text.ts";
import { countOf, type SectionCount } from "./counts.ts";
import { groups, isWithin, operatorGroup, type SectionGroup } from "./sections.tsx";
import { useCounts } from "./use-counts.ts";

type Props = { path: string; inWorkspace: boolean; isOperator: boolean; onFollow(): void };

export function Sections({ path, inWorkspace, isOperator, onFollow }: Props) {
  const { caller } = useSession();
  // Every call in a workspace that lacks a required second factor is rejected.
  const isOpen = inWorkspace && !(caller?.kind === "person" && caller.workspace?.needsSecondFactor);
  const { counts = {}, seen, error, asOf } = useCounts(path, isOpen);
  const countFor = (to: string) => {
    const count = countOf(to, counts, seen);
    return count && { ...count, says: `${count.says}, as of ${clockText(asOf)}` };
  };
  return (
    <nav id="sections" aria-label="Sections">
      <div className="sections">
        {inWorkspace && groups.map((group) => <Links key={group.title} {...{ ...group, path, onFollow, countFor }} />)}
        {isOperator && <Links {...{ ...operatorGroup, path, onFollow, countFor }} />}
      </div>
      {isOpen && (
        <p className="counts-away" role="status">
          {error !== null &&
            `${isUnanswered(error) ? "The server does not answer" : "The last update failed"}. Trying again.`}
        </p>
      )}
    </nav>
  );
}

type LinksProps = SectionGroup & { path: string; onFollow(): void; countFor(to: string): SectionCount | undefined };

function Links({ title, links, path, onFollow, countFor }: LinksProps) {
  return (
    <>
      <h2>{title}</h2>
      {links.map(({ to, label }) => {
        const count = countFor(to);
        return (
          <Link
            key={to}
            to={to}
            aria-current={isWithin(path, to) ? "page" : undefined}
            title={count?.says}
            onClick={onFollow}
          >
            {label} {count && <span className={count.isProblem ? "alert" : "count"}>{count.text}</span>}
          </Link>
        );
      })}
    </>
  );
}
