/** A model as a card: what it is, what it costs, how well it answers. */
import { clsx } from "clsx";
import { Check, Scale } from "lucide-react";
import { format, Link } from "@/kit";
import { locale, useLanguage, useTexts } from "@/text";
import { Headline, Health, keyFacts, kindName } from "./parts";
import type { Model } from "./record";
import { catalogTexts } from "./texts";

interface PickProps {
  picked: boolean;
  full: boolean;
  onPick: (name: string) => void;
}

export function ModelCard({ model, ...pick }: PickProps & { model: Model }) {
  const t = useTexts(catalogTexts);
  const language = useLanguage();
  const facts = keyFacts(model, t, (value) => format.shortCount(value, locale(language)));
  return (
    <li className="relative flex min-h-[190px] min-w-0 flex-col rounded-card border border-line bg-surface p-4 transition-colors duration-100 hover:border-line-strong has-focus-visible:border-accent">
      <div className="flex items-start justify-between gap-2">
        <div className="min-w-0">
          <Link
            href={`/catalog/${encodeURIComponent(model.name)}`}
            className="num block text-[13.5px]! leading-5 font-semibold [overflow-wrap:anywhere] text-ink after:absolute after:inset-0 after:rounded-card"
          >
            {model.name}
          </Link>
          <p className="mt-0.5 truncate text-xs text-ink-3 [font-variant-ligatures:no-contextual]">
            {[model.vendor, kindName(t, model), ...facts].filter((part) => part !== "").join(" · ")}
          </p>
        </div>
        <CompareBox name={model.name} {...pick} />
      </div>
      <p className="mt-2 mb-3 line-clamp-2 min-h-10 text-ink-2">{model.description}</p>
      <div className="mt-auto">
        <Headline model={model} stacked />
        <div className="mt-2.5 flex min-h-[22px] items-center">
          <Health model={model} compact />
        </div>
      </div>
    </li>
  );
}

/** Takes a model into the comparison, or out of it. */
export function CompareBox({ name, picked, full, onPick, bare = false }: PickProps & { name: string; bare?: boolean }) {
  const t = useTexts(catalogTexts);
  const blocked = full && !picked;
  const label = blocked ? t.compareFull : picked ? t.compareRemove(name) : t.compareAdd(name);
  return (
    <button
      type="button"
      aria-pressed={picked}
      aria-label={label}
      data-tip={label}
      disabled={blocked}
      onClick={() => onPick(name)}
      className={clsx(
        "relative z-1 flex size-7 shrink-0 items-center justify-center rounded-md border disabled:cursor-not-allowed disabled:opacity-40 [&_svg]:size-3.5",
        bare ? "" : "-mt-0.5 -mr-1",
        picked ? "border-accent bg-accent text-on-accent" : "border-line text-ink-3 hover:bg-hover hover:text-ink",
      )}
    >
      {picked ? <Check aria-hidden /> : <Scale aria-hidden />}
    </button>
  );
}
