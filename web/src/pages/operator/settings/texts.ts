import { defineTexts } from "@/text";

export const serverSettingsTexts = defineTexts(
  {
    title: "Server settings",
    lead: "Active configuration, without secrets. To change it, edit the configuration file and restart the server.",
    search: "Search settings",
    columns: { name: "Setting", value: "Value" },
    empty: "No matching settings",
    docs: "Configuration",
  },
  {
    title: "服务器设置",
    lead: "当前使用的配置，不含机密。如需更改，请修改配置文件并重启服务器。",
    search: "搜索设置",
    columns: { name: "设置", value: "值" },
    empty: "没有匹配的设置",
    docs: "配置文档",
  },
);
