/** Questions about what is sold. Both answers change seldom and are shared by all pages. */
import { useQuery } from "@tanstack/react-query";
import { api } from "@/api";
import { type Model, type Pricing, readModels, type SocialCatalog } from "./record";

export interface ReadPricing {
  models: Model[];
  version: string;
}

const FRESH_MS = 60_000;

export function usePricing() {
  return useQuery({
    queryKey: ["pricing"],
    queryFn: async ({ signal }): Promise<ReadPricing> => {
      const pricing = await api.get<Pricing>("/api/pricing", { signal });
      return { models: readModels(pricing), version: pricing.data[0]?.pricing_version ?? "" };
    },
    staleTime: FRESH_MS,
  });
}

export function useSocialCatalog() {
  return useQuery({
    queryKey: ["social-catalog"],
    queryFn: ({ signal }) => api.get<SocialCatalog>("/api/social/catalog", { signal }),
    staleTime: FRESH_MS,
  });
}
