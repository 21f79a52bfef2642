import { defineTexts } from "@/text";

export const connectionsTexts = defineTexts(
  {
    title: "Live connections",
    lead: "Open Realtime and Responses WebSocket connections on all nodes.",
    columns: {
      customer: "Customer",
      model: "Model",
      key: "Key",
      channel: "Channel",
      node: "Node",
      opened: "Opened",
      id: "Connection",
    },
    anyModel: "Set by each message",
    close: "Close",
    closing: "Closing",
    closeTitle: "Close this connection",
    closeLead:
      "A response in progress is cancelled and charged for the part already generated. The client receives an error and close code 1008, and can connect again.",
    closeDo: "Close connection",
    closed: "The connection closes within seconds.",
    empty: "No open connections",
    emptyText: "Realtime voice sessions and Responses over WebSocket appear here while they are open.",
  },
  {
    title: "实时连接",
    lead: "所有节点上当前打开的 Realtime 与 Responses WebSocket 连接。",
    columns: {
      customer: "客户",
      model: "模型",
      key: "密钥",
      channel: "渠道",
      node: "节点",
      opened: "打开时间",
      id: "连接",
    },
    anyModel: "由每条消息指定",
    close: "关闭",
    closing: "正在关闭",
    closeTitle: "关闭此连接",
    closeLead: "进行中的响应会被取消，并按已生成的部分扣费。客户端会收到错误和关闭码 1008，之后可以重新连接。",
    closeDo: "关闭连接",
    closed: "连接将在数秒内关闭。",
    empty: "没有打开的连接",
    emptyText: "Realtime 语音会话和 Responses WebSocket 在打开期间显示在这里。",
  },
);
