import { useTexts } from "@/text";
import { isEach, usdOfPico } from "./pico";
import { pricesTexts } from "./texts";

export function PriceText({ pico, face }: { pico: number; face: string }) {
  const t = useTexts(pricesTexts);
  return (
    <span className="whitespace-nowrap">
      <span className="num">${usdOfPico(pico, face)}</span>
      <span className="text-ink-3"> {isEach(face) ? t.perUnit : t.perMillion}</span>
    </span>
  );
}
