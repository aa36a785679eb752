// The page's words in both languages.

export const TEXTS = {
  en: {
    skip: "Skip to the tool", search: "Search tools", tools: "Tools", routes: "Routes", loading: "Loading…",
    otherLanguage: "中文", light: "Light", dark: "Dark", unreachable: "The service does not answer",
    ready: (f) => `${f.version} · port ${f.port} · ${f.tools.state.running} of ${f.tools.total} running`,
    problems: (n) => `${n} problem${n === 1 ? "" : "s"} in tool files`,
    noTools: "No tool matches.", none: "There are no tools yet. `toolcrib new` makes one.", gone: "There is no such tool.",
    running: "running", stopped: "stopped", tryIt: "Try it", params: "Parameters", json: "Parameters as JSON",
    run: "Run", cancel: "Cancel", working: (s) => `Working… ${s} s`, cancelled: "Cancelled.",
    addFile: "Add a file…", uploading: "Uploading…", start: "Start", stop: "Stop", log: "Log", showLog: "Show the log",
    copy: "Copy as curl", copied: "Copied", notJson: "This is not JSON: ", notObject: "The parameters have to be a JSON object.",
    answer: "Answer", success: "Success", failed: "Failed", picture: (w, h) => `${w} × ${h}`, hint: "What to do: ",
    name: "Name", type: "Type", description: "Description", required: "required", noParams: "This tool takes no parameters.",
    input: "Input schema", output: "Output schema", timeout: (s) => `up to ${s} s`, effects: "effects", risk: "risk",
    characters: (n) => `… ${n} characters`, byHand: "By hand", details: "Details", shortcut: "runs",
  },
  zh: {
    skip: "跳到工具", search: "搜索工具", tools: "工具", routes: "接口", loading: "正在加载…",
    otherLanguage: "English", light: "浅色", dark: "深色", unreachable: "服务没有响应",
    ready: (f) => `${f.version} · 端口 ${f.port} · ${f.tools.total} 个工具，${f.tools.state.running} 个运行中`,
    problems: (n) => `工具文件中有 ${n} 个问题`,
    noTools: "没有匹配的工具。", none: "还没有工具。用 `toolcrib new` 创建一个。", gone: "没有这个工具。",
    running: "运行中", stopped: "已停止", tryIt: "试一试", params: "参数", json: "JSON 格式的参数",
    run: "运行", cancel: "取消", working: (s) => `正在运行… ${s} 秒`, cancelled: "已取消。",
    addFile: "添加文件…", uploading: "正在上传…", start: "启动", stop: "停止", log: "日志", showLog: "查看日志",
    copy: "复制为 curl", copied: "已复制", notJson: "不是合法的 JSON：", notObject: "参数必须是一个 JSON 对象。",
    answer: "结果", success: "成功", failed: "失败", picture: (w, h) => `${w} × ${h}`, hint: "怎么办：",
    name: "名称", type: "类型", description: "说明", required: "必填", noParams: "这个工具没有参数。",
    input: "输入 Schema", output: "输出 Schema", timeout: (s) => `最长 ${s} 秒`, effects: "影响", risk: "风险",
    characters: (n) => `… 共 ${n} 个字符`, byHand: "手动运行", details: "详细信息", shortcut: "运行",
  },
};
