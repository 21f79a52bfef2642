/** Every model and platform, with filters that live in the address. */
import { Page, Tabs, useSearch } from "@/kit";
import { useTexts } from "@/text";
import { usePricing, useSocialCatalog } from "./data";
import { ModelsTab } from "./ModelsTab";
import { SocialTab } from "./SocialTab";
import { catalogTexts } from "./texts";

export default function CatalogPage() {
  const t = useTexts(catalogTexts);
  const [search, setSearch] = useSearch();
  const tab = search["tab"] === "social" ? "social" : "models";
  const pricing = usePricing();
  const social = useSocialCatalog();
  return (
    <Page title={t.title} lead={t.lead} wide>
      <Tabs
        label={t.title}
        value={tab}
        onChange={(next) => setSearch({ tab: next === "social" ? "social" : "" })}
        tabs={[
          { value: "models", label: t.tabs.models, count: pricing.data?.models.length, content: <ModelsTab /> },
          { value: "social", label: t.tabs.social, count: social.data?.cells.length, content: <SocialTab /> },
        ]}
      />
    </Page>
  );
}
