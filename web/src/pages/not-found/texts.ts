import { defineTexts } from "@/text";

export const notFoundTexts = defineTexts(
  {
    title: "There is no such page",
    text: "The address may be mistyped, or what it showed is gone:",
    home: "Go home",
    signIn: "Sign in",
  },
  {
    title: "没有这个页面",
    text: "地址可能有误，或内容已不存在：",
    home: "返回首页",
    signIn: "登录",
  },
);
