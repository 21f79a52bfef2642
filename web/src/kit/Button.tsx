import { clsx } from "clsx";
import { LoaderCircle } from "lucide-react";
import type { ButtonHTMLAttributes, ReactNode, Ref } from "react";
import { Link } from "@/app/nav";

export type ButtonVariant = "primary" | "quiet" | "danger" | "link";
export type ButtonSize = "small" | "normal" | "icon";

const shapes: Record<ButtonVariant, string> = {
  primary: "bg-accent text-on-accent hover:bg-accent-hover border border-transparent",
  quiet: "bg-surface text-ink border border-line-strong hover:bg-hover",
  danger: "bg-bad-solid text-on-accent border border-transparent hover:opacity-90",
  link: "text-accent-ink hover:underline underline-offset-2",
};
const sizes: Record<ButtonSize, string> = {
  small: "h-7 px-2.5 text-xs gap-1.5 rounded-md",
  normal: "h-9 px-3.5 text-sm gap-2 rounded-card",
  icon: "size-8 justify-center rounded-card",
};

export interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "type"> {
  variant?: ButtonVariant | undefined;
  size?: ButtonSize | undefined;
  icon?: ReactNode;
  busy?: boolean | undefined;
  /** A link that looks like a button. */
  href?: string | undefined;
  type?: "button" | "submit" | undefined;
  ref?: Ref<HTMLButtonElement>;
}
export function Button(props: ButtonProps) {
  const { variant = "quiet", size = "normal", icon, busy = false, href, className, children, ...rest } = props;
  const look = clsx(
    "relative inline-flex shrink-0 select-none items-center font-medium whitespace-nowrap transition-colors duration-100",
    "[&_svg]:size-4 [&_svg]:shrink-0",
    "disabled:cursor-not-allowed disabled:opacity-55 aria-disabled:opacity-55",
    variant === "link" && size !== "icon" ? "gap-1.5 text-[inherit]" : sizes[size],
    size !== "icon" && variant !== "link" && "justify-center",
    shapes[variant],
    className,
  );
  if (href !== undefined) {
    return (
      <Link href={href} className={look} aria-label={rest["aria-label"]}>
        {icon}
        {children}
      </Link>
    );
  }
  return (
    <button
      {...rest}
      type={rest.type ?? "button"}
      className={look}
      disabled={rest.disabled === true || busy}
      aria-busy={busy || undefined}
    >
      {busy ? <LoaderCircle aria-hidden className="animate-spin" /> : icon}
      {children}
    </button>
  );
}

/** A button that is only an icon: the label is its name for everyone who does not see it, and its hover. */
export function IconButton({
  label,
  icon,
  className,
  ...rest
}: Omit<ButtonProps, "size" | "href"> & { label: string }) {
  return (
    <Button
      {...rest}
      size="icon"
      icon={icon}
      aria-label={label}
      data-tip={label}
      className={clsx(
        rest.variant === undefined && "border-transparent! bg-transparent! text-ink-3 hover:bg-hover! hover:text-ink",
        className,
      )}
    />
  );
}
