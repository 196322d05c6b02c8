/** A menu behind a button: actions, links, or a choice. It opens as a popover of the browser and has the keys of the ARIA menu pattern, so
 * that the first view loads no code that places popovers. */
import { UnstyledButton } from "@mantine/core";
import {
  type ComponentPropsWithoutRef,
  cloneElement,
  createContext,
  type ElementType,
  type KeyboardEvent,
  type MouseEvent,
  type ReactElement,
  type ReactNode,
  type RefObject,
  useCallback,
  useContext,
  useEffect,
  useId,
  useRef,
  useState,
} from "react";
import { CheckIcon } from "./icons.tsx";
import { nextItem } from "./menu-keys.ts";
import { placeBelow } from "./menu-place.ts";
import "./menu.css";

type MenuState = {
  id: string;
  isOpen: boolean;
  setIsOpen(isOpen: boolean): void;
  isAtEnd: boolean;
  width: number | undefined;
  target: RefObject<HTMLElement | null>;
  list: RefObject<HTMLDivElement | null>;
};

const MenuContext = createContext<MenuState | undefined>(undefined);
const ChoiceContext = createContext<{ value: string; onChange(value: string): void } | undefined>(undefined);

function useMenu(): MenuState {
  const menu = useContext(MenuContext);
  if (!menu) throw new Error("This part belongs in a Menu.");
  return menu;
}

export function Menu(props: {
  /** The edge of the button that the menu is aligned with. */
  position: "bottom-start" | "bottom-end";
  width?: number;
  onOpen?: () => void;
  children: ReactNode;
}) {
  const { position, width, onOpen, children } = props;
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const target = useRef<HTMLElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const setIsOpen = (open: boolean) => {
    setOpen(open);
    if (open) onOpen?.();
  };
  return (
    <MenuContext value={{ id, isOpen, setIsOpen, isAtEnd: position === "bottom-end", width, target, list }}>
      {children}
    </MenuContext>
  );
}

/** The button, as its only child. */
function Target({ children }: { children: ReactElement<Record<string, unknown>> }) {
  const { id, isOpen, target, list } = useMenu();
  return cloneElement(children, {
    ref: target,
    popoverTarget: id,
    "aria-haspopup": "menu",
    "aria-expanded": isOpen,
    "aria-controls": isOpen ? id : undefined,
    onKeyDown(event: KeyboardEvent) {
      if (event.key !== "ArrowDown") return;
      event.preventDefault();
      list.current?.showPopover();
    },
  });
}

function Dropdown({ children }: { children: ReactNode }) {
  const { id, isOpen, setIsOpen, isAtEnd, width, target, list } = useMenu();
  const place = useCallback(() => {
    if (!target.current || !list.current) return;
    const view = { width: innerWidth, height: innerHeight };
    Object.assign(list.current.style, placeBelow(target.current.getBoundingClientRect(), isAtEnd, view));
  }, [target, list, isAtEnd]);
  useEffect(() => {
    if (!isOpen) return;
    const leaving = new AbortController();
    window.addEventListener("scroll", place, leaving);
    window.addEventListener("resize", place, leaving);
    return () => leaving.abort();
  }, [isOpen, place]);
  const onKey = (event: KeyboardEvent<HTMLDivElement>) => {
    // The focus returns to the button, and Tab goes on from there.
    if (event.key === "Tab") return list.current?.hidePopover();
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const items = itemsOf(event.currentTarget);
    const labels = items.map((item) => item.textContent ?? "");
    const next = nextItem(event.key, labels, items.indexOf(document.activeElement as HTMLElement));
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    items[next]?.focus();
  };
  return (
    <div
      ref={list}
      id={id}
      popover="auto"
      role="menu"
      aria-label={nameOf(target.current)}
      tabIndex={-1}
      className="menu"
      style={{ width }}
      onBeforeToggle={({ newState }) => {
        if (newState !== "open") return;
        setIsOpen(true);
        place();
      }}
      onToggle={({ newState, currentTarget }) => {
        // Not before: the browser returns the focus only if an item still has it.
        if (newState !== "open") return setIsOpen(false);
        const items = itemsOf(currentTarget);
        (items.find((item) => item.ariaChecked === "true") ?? items[0] ?? currentTarget).focus();
      }}
      onKeyDown={onKey}
    >
      {isOpen && children}
    </div>
  );
}

function itemsOf(list: HTMLElement): HTMLElement[] {
  return [...list.querySelectorAll<HTMLElement>("[role^=menuitem]:not(:disabled)")];
}

function nameOf(target: HTMLElement | null): string | undefined {
  return target?.ariaLabel ?? target?.textContent ?? undefined;
}

type ItemProps<Component extends ElementType> = Omit<ComponentPropsWithoutRef<Component>, "children"> & {
  /** A link or an anchor; a button by default. */
  component?: Component;
  closeMenuOnClick?: boolean;
  rightSection?: ReactNode;
  children: ReactNode;
};

function Item<Component extends ElementType = "button">(props: ItemProps<Component>) {
  const { component, closeMenuOnClick = true, rightSection, children, onClick, ...others } = props;
  const { list } = useMenu();
  return (
    <UnstyledButton
      role="menuitem"
      tabIndex={-1}
      className="menu-item"
      {...others}
      component={(component ?? "button") as "button"}
      onClick={(event: MouseEvent) => {
        // First, so that a dialog that the item opens returns the focus to the button.
        if (closeMenuOnClick) list.current?.hidePopover();
        onClick?.(event);
      }}
    >
      <span className="menu-text">{children}</span>
      {rightSection}
    </UnstyledButton>
  );
}

function RadioGroup(props: { value: string; onChange(value: string): void; children: ReactNode }) {
  const { value, onChange, children } = props;
  return <ChoiceContext value={{ value, onChange }}>{children}</ChoiceContext>;
}

function RadioItem(props: { value: string; rightSection?: ReactNode; children: ReactNode }) {
  const { value, rightSection, children } = props;
  const choice = useContext(ChoiceContext);
  const isChosen = choice?.value === value;
  return (
    <Item
      role="menuitemradio"
      aria-checked={isChosen}
      onClick={() => choice?.onChange(value)}
      rightSection={rightSection}
    >
      <span className="menu-check">{isChosen && <CheckIcon />}</span>
      {children}
    </Item>
  );
}

function Label({ children }: { children: ReactNode }) {
  return <div className="menu-label">{children}</div>;
}

function Divider() {
  return <hr className="menu-line" />;
}

Menu.Target = Target;
Menu.Dropdown = Dropdown;
Menu.Item = Item;
Menu.RadioGroup = RadioGroup;
Menu.RadioItem = RadioItem;
Menu.Label = Label;
Menu.Divider = Divider;
