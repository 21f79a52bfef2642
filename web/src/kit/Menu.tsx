import { clsx } from "clsx";
import { Check } from "lucide-react";
import { DropdownMenu } from "radix-ui";
import type { ReactNode } from "react";
import { useGo } from "@/app/nav";

export type MenuItem =
  | {
      kind?: "action";
      label: ReactNode;
      icon?: ReactNode;
      onSelect?: () => void;
      href?: string;
      danger?: boolean;
      disabled?: boolean;
      checked?: boolean;
      hint?: ReactNode;
    }
  | { kind: "line" }
  | { kind: "head"; label: ReactNode };

/** A menu under a button. The trigger must be one element that takes a ref. */
export function Menu({
  trigger,
  items,
  align = "end",
  width,
}: {
  trigger: ReactNode;
  items: readonly MenuItem[];
  align?: "start" | "end";
  width?: number;
}) {
  const go = useGo();
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align={align}
          sideOffset={6}
          collisionPadding={8}
          style={{ minWidth: width ?? 200 }}
          className="anim-fade z-50 max-h-(--radix-dropdown-menu-content-available-height) max-w-[min(20rem,calc(100vw-1rem))] overflow-y-auto rounded-card border border-line bg-surface p-1 shadow-raised"
        >
          {items.map((item, index) => {
            // biome-ignore-start lint/suspicious/noArrayIndexKey: the entries of a menu never change places
            if (item.kind === "line") return <DropdownMenu.Separator key={index} className="-mx-1 my-1 h-px bg-line" />;
            if (item.kind === "head") {
              return (
                <DropdownMenu.Label key={index} className="px-2 py-1.5 text-xs text-ink-3">
                  {item.label}
                </DropdownMenu.Label>
              );
            }
            return (
              <DropdownMenu.Item
                key={index}
                disabled={item.disabled ?? false}
                onSelect={() => {
                  item.onSelect?.();
                  if (item.href !== undefined) {
                    if (item.href.startsWith("/docs") || item.href.startsWith("/api/")) location.assign(item.href);
                    else go(item.href);
                  }
                }}
                className={clsx(
                  "flex cursor-pointer items-center gap-2.5 rounded-md px-2 py-1.5 text-sm outline-none select-none data-disabled:cursor-default data-disabled:opacity-50 data-highlighted:bg-hover [&_svg]:size-4 [&_svg]:shrink-0",
                  item.danger === true ? "text-bad" : "text-ink [&>svg]:text-ink-3",
                )}
              >
                {item.icon}
                <span className="min-w-0 flex-1">
                  <span className="block truncate">{item.label}</span>
                  {item.hint !== undefined && <span className="block truncate text-xs text-ink-3">{item.hint}</span>}
                </span>
                {item.checked === true && <Check aria-hidden />}
              </DropdownMenu.Item>
            );
            // biome-ignore-end lint/suspicious/noArrayIndexKey: the entries of a menu never change places
          })}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
