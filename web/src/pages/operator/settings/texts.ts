import { defineTexts } from "@/text";

export const serverSettingsTexts = defineTexts(
  {
    title: "Server settings",
    lead: "The configuration in use, without secrets. It is changed in the configuration file and by a restart.",
    search: "Search settings",
    columns: { name: "Setting", value: "Value" },
    empty: "No setting matches",
    docs: "Configuration",
  },
  {
    title: "服务器设置",
    lead: "当前使用的配置，不含机密。在配置文件中修改并重启后生效。",
    search: "搜索设置",
    columns: { name: "设置", value: "值" },
    empty: "没有匹配的设置",
    docs: "配置文档",
  },
);
