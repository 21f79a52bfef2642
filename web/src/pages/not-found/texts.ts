import { defineTexts } from "@/text";

export const notFoundTexts = defineTexts(
  {
    title: "Page not found",
    text: "The address is wrong, or the page no longer exists:",
    home: "Go home",
    signIn: "Sign in",
  },
  {
    title: "页面不存在",
    text: "地址有误，或页面已不存在：",
    home: "返回首页",
    signIn: "登录",
  },
);
